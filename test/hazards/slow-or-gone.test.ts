/** Clients that are slow, or leave too early. Numbers refer to the hazard list. */
import { once } from 'node:events'
import type http from 'node:http'
import type { Middleware } from 'messaging-webhooks'
import { expect } from 'vitest'
import { hazards, refused, accepted, POLL, type HazardCase, type Service } from '../support/hazard.ts'
import { chunked, connect, head, reportText, signatureOf } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })
const BODY = reportText()
const SIGNED = `X-Service-Signature: ${signatureOf(BODY)}`
const WHOLE = `Content-Length: ${BODY.length}`
const CHUNKED = 'Transfer-Encoding: chunked'

/** An application that calls the receiver once the client of a slow request has gone. */
function calledWhenGone(middleware: Middleware): http.RequestListener {
  return (incoming, response) => {
    const call = (): void => middleware(incoming, response)
    if (incoming.headers['x-slow'] === undefined) call()
    else incoming.socket.once('close', () => setImmediate(call))
  }
}

const INCOMPLETE = { status: undefined, events: [], codes: ['body_incomplete'] } as const

/** Writes this much of a request; resets the connection once the server has seen it. */
async function reset({ url, server }: Service, ...parts: readonly string[]): Promise<void> {
  const seen = once(server, 'request')
  const wire = await connect(url)
  wire.write(...parts)
  await seen
  wire.socket.resetAndDestroy()
}

function cutOff(name: string, ...parts: readonly string[]): HazardCase {
  return {
    name: `#55 ${name}, then a reset`,
    async send(service) {
      await reset(service, ...parts)
      await expect.poll(() => service.errors.length, POLL).toBe(1)
      return undefined
    },
    outcome: INCOMPLETE,
  }
}

/** A body whose parts, given their number, arrive 10 ms apart. */
function dripping(name: string, framing: string, part: (nth: number) => string): HazardCase {
  return {
    name: `#65 ${name}`,
    options: { bodyTimeoutMs: 200 },
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(SIGNED, framing))
      let sent = 0
      const drip = setInterval(() => wire.write(part((sent += 1))), 10)
      const [status] = await wire.answers()
      clearInterval(drip)
      await wire.closed
      return status
    },
    outcome: refused(408, 'body_too_slow'),
  }
}

function leavingWith(last: string, bytes: string): HazardCase {
  return {
    name: `#66 the client leaves with its last ${last}`,
    async send({ url }) {
      const wire = await connect(url)
      await new Promise((resolve) => wire.socket.write(bytes, resolve))
      wire.socket.destroy()
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  }
}

hazards([
  cutOff('fewer bytes than announced', head(SIGNED, 'Content-Length: 500'), BODY),
  cutOff('chunks without an end', head(SIGNED, CHUNKED), chunked(BODY).slice(0, -5)),
  cutOff('the head', head('Content-Length: 500')),
  {
    name: '#65 one byte, and then nothing',
    options: { bodyTimeoutMs: 200 },
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`), BODY.slice(0, 1))
      const text = await wire.closed
      expect(text).toMatch(/connection: close/i)
      return Number(text.slice(9, 12))
    },
    outcome: refused(408, 'body_too_slow'),
  },
  dripping('a byte now and then: the timeout covers the whole body', WHOLE, (nth) => BODY.slice(nth - 1, nth)),
  dripping('chunks now and then', CHUNKED, () => '1\r\n \r\n'),
  {
    name: 'a body in thousands of tiny chunks, each of which costs far more than its byte',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(SIGNED, CHUNKED))
      const drip = setInterval(() => wire.write('1\r\n \r\n'.repeat(100)), 1)
      const [status] = await wire.answers()
      clearInterval(drip)
      expect(await wire.closed).toMatch(/connection: close/i)
      return status
    },
    outcome: refused(408, 'body_too_slow'),
  },
  {
    name: 'a body in a thousand tiny chunks is accepted',
    async send({ url }) {
      const wire = await connect(url)
      const body = reportText({ note: 'x'.repeat(1_000 - BODY.length) })
      wire.write(head(`X-Service-Signature: ${signatureOf(body)}`, 'Transfer-Encoding: chunked'), chunked(body, 1))
      const [status] = await wire.answers()
      return status
    },
    outcome: DELIVERED,
  },
  leavingWith('byte', head(SIGNED, WHOLE) + BODY),
  leavingWith('chunk', head(SIGNED, CHUNKED) + chunked(BODY, 10)),
  {
    name: '#66 the client leaves before a slow application calls the receiver',
    mount: { within: calledWhenGone },
    async send(service) {
      await reset(service, head(SIGNED, WHOLE, 'X-Slow: yes'), BODY)
      await expect.poll(() => service.dispatched.length, POLL).toBe(1)
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
  {
    name: '#66 the client leaves with half a body before a slow application calls the receiver',
    mount: { within: calledWhenGone },
    async send(service) {
      await reset(service, head(SIGNED, WHOLE, 'X-Slow: yes'), BODY.slice(0, -1))
      await expect.poll(() => service.errors.length, POLL).toBe(1)
      return undefined
    },
    outcome: INCOMPLETE,
  },
  {
    name: '#67 the client half-closes behind its body',
    async send({ url }) {
      const wire = await connect(url)
      wire.socket.end(head(SIGNED, WHOLE) + BODY)
      await wire.closed
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
])
