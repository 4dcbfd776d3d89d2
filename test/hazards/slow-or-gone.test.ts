/** Clients that are slow, or leave too early. Numbers refer to the hazard list. */
import { once } from 'node:events'
import type http from 'node:http'
import type { Middleware } from 'messaging-webhooks'
import { expect } from 'vitest'
import { hazards, refused, accepted, POLL } from '../support/hazard.ts'
import { chunked, connect, head, reportText, signatureOf } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })
const BODY = reportText()

/** An application that calls the receiver once the client of a slow request has gone. */
function calledWhenGone(middleware: Middleware): http.RequestListener {
  return (incoming, response) => {
    const call = (): void => middleware(incoming, response)
    if (incoming.headers['x-slow'] === undefined) call()
    else incoming.socket.once('close', () => setImmediate(call))
  }
}

hazards([
  {
    name: '#55 fewer bytes than announced, then a reset',
    async send(service) {
      const seen = once(service.server, 'request')
      const wire = await connect(service.url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Content-Length: 500'), BODY)
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => service.errors.length, POLL).toBe(1)
      return undefined
    },
    outcome: { status: undefined, events: [], codes: ['body_incomplete'] },
  },
  {
    name: '#55 chunks without an end, then a reset',
    async send(service) {
      const seen = once(service.server, 'request')
      const wire = await connect(service.url)
      wire.write(
        head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Transfer-Encoding: chunked'),
        chunked(BODY).slice(0, -5),
      )
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => service.errors.length, POLL).toBe(1)
      return undefined
    },
    outcome: { status: undefined, events: [], codes: ['body_incomplete'] },
  },
  {
    name: '#55 the head and then a reset',
    async send(service) {
      const seen = once(service.server, 'request')
      const wire = await connect(service.url)
      wire.write(head('Content-Length: 500'))
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => service.errors.length, POLL).toBe(1)
      return undefined
    },
    outcome: { status: undefined, events: [], codes: ['body_incomplete'] },
  },
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
  {
    name: '#65 a byte now and then: the timeout covers the whole body',
    options: { bodyTimeoutMs: 200 },
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`))
      let sent = 0
      const drip = setInterval(() => wire.write(BODY.slice(sent, (sent += 1))), 10)
      const [status] = await wire.answers()
      clearInterval(drip)
      await wire.closed
      return status
    },
    outcome: refused(408, 'body_too_slow'),
  },
  {
    name: '#65 chunks now and then',
    options: { bodyTimeoutMs: 200 },
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Transfer-Encoding: chunked'))
      const drip = setInterval(() => wire.write('1\r\n \r\n'), 10)
      const [status] = await wire.answers()
      clearInterval(drip)
      await wire.closed
      return status
    },
    outcome: refused(408, 'body_too_slow'),
  },
  {
    name: 'a body in thousands of tiny chunks, each of which costs far more than its byte',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Transfer-Encoding: chunked'))
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
  {
    name: '#66 the client leaves with its last byte',
    async send({ url }) {
      const wire = await connect(url)
      const bytes = head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`) + BODY
      await new Promise((resolve) => wire.socket.write(bytes, resolve))
      wire.socket.destroy()
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
  {
    name: '#66 the client leaves with its last chunk',
    async send({ url }) {
      const wire = await connect(url)
      const bytes = head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Transfer-Encoding: chunked') + chunked(BODY, 10)
      await new Promise((resolve) => wire.socket.write(bytes, resolve))
      wire.socket.destroy()
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
  {
    name: '#66 the client leaves before a slow application calls the receiver',
    mount: { within: calledWhenGone },
    async send({ url, server, dispatched }) {
      const seen = once(server, 'request')
      const wire = await connect(url)
      const bytes = head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`, 'X-Slow: yes')
      wire.write(bytes + BODY)
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => dispatched.length, POLL).toBe(1)
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
  {
    name: '#66 the client leaves with half a body before a slow application calls the receiver',
    mount: { within: calledWhenGone },
    async send({ url, server, errors }) {
      const seen = once(server, 'request')
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`, 'X-Slow: yes'))
      wire.write(BODY.slice(0, -1))
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => errors.length, POLL).toBe(1)
      return undefined
    },
    outcome: { status: undefined, events: [], codes: ['body_incomplete'] },
  },
  {
    name: '#67 the client half-closes behind its body',
    async send({ url }) {
      const wire = await connect(url)
      wire.socket.end(head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`) + BODY)
      await wire.closed
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
])
