/** Bodies that are too large, or nearly. Numbers refer to the hazard list. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { hazards, refused, serve, accepted, type HazardCase, type Outcome } from '../support/hazard.ts'
import { post } from '../support/receiving.ts'
import { chunked, connect, head, postSigned, reportText, signatureOf, signedBytes, writeRaw } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })
const TOO_LARGE = refused(413, 'body_too_large')
const MOST = 2_000
const small = { maxBodyBytes: MOST }

/** A signed report of exactly this many bytes. */
function sized(bytes: number): string {
  const text = reportText({ filler: '' })
  return reportText({ filler: 'x'.repeat(bytes - text.length) })
}

/** A body of this many bytes, with its length and in chunks. */
function ofSize(name: string, bytes: number, outcome: Outcome): readonly HazardCase[] {
  const body = sized(bytes)
  return [
    { name: `#53 ${name}`, options: small, send: ({ url }) => postSigned(url, body), outcome },
    {
      name: `#54 ${name}, in chunks`,
      options: small,
      send({ url }) {
        const lines = head(`X-Service-Signature: ${signatureOf(body)}`, 'Transfer-Encoding: chunked')
        return writeRaw(url, lines, chunked(body, 7))
      },
      outcome,
    },
  ]
}

hazards([
  ...ofSize('a body of maxBodyBytes', MOST, DELIVERED),
  ...ofSize('one byte more', MOST + 1, TOO_LARGE),
  ...['100000000', '9007199254740993'].map((length): HazardCase => ({
    name: `#53 ${length} bytes announced: answered before they are sent`,
    send: ({ url }) => writeRaw(url, head(`Content-Length: ${length}`)),
    outcome: TOO_LARGE,
  })),
  {
    name: '#53 5 MB that are really sent: the client sees the answer',
    send: ({ url }) => postSigned(url, sized(5_000_000)),
    outcome: TOO_LARGE,
  },
  {
    name: 'accepts a good callback behind one that is too large on the same connection, though it gets no response',
    options: small,
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`Content-Length: ${MOST + 1}`), sized(MOST + 1), signedBytes(reportText({ messageId: 'm-2' })))
      const text = await wire.closed
      expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413'])
      return 413
    },
    outcome: { ...TOO_LARGE, events: [{ messageId: 'm-2' }] },
  },
])

test('every refusal that leaves a body unread closes its connection', async () => {
  const { url } = await serve({ maxBodyBytes: MOST, bodyTimeoutMs: 200 })
  for (const [bytes, status] of [
    [head(`Content-Length: ${MOST + 1}`), 413],
    [`PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n`, 405],
    [head('Content-Length: 500'), 408],
  ] as const) {
    const wire = await connect(url)
    wire.write(bytes)
    expect(await wire.closed).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*connection: close`, 'i'))
  }
  expect(await post(url, callback.smsDelivery())).toMatchObject({ status: 204 })
})
