/** Requests with a method that is not POST, or not really. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { hazards, neverReachesUs, accepted, type HazardCase } from '../support/hazard.ts'
import { head, postSigned, reportText, request, writeRaw } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })
const BODY = reportText()

/** Rejected before anything is read: such a request cannot be a callback. */
const NOT_ALLOWED = neverReachesUs(405)

hazards([
  ...['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'].map((method): HazardCase => ({
    name: `#71 ${method}`,
    async send({ url }) {
      const { status, headers } = await request(url, { method })
      expect(headers).toMatchObject({ allow: 'POST', connection: 'close' })
      return status
    },
    outcome: NOT_ALLOWED,
  })),
  {
    name: '#71 PUT with a valid signature and a body that is never complete',
    send: ({ url }) => writeRaw(url, `PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{`),
    outcome: NOT_ALLOWED,
  },
  {
    name: 'post in lower case',
    send: ({ url }) => writeRaw(url, head().replace('POST', 'post')),
    outcome: neverReachesUs(400),
  },
  {
    name: '#72 a method that was overridden before the receiver',
    mount: {
      within: (middleware) => (incoming, response) => {
        if (incoming.headers['x-http-method-override'] !== undefined) incoming.method = 'DELETE'
        middleware(incoming, response)
      },
    },
    send: ({ url }) => postSigned(url, BODY, { 'x-http-method-override': 'DELETE' }),
    outcome: NOT_ALLOWED,
  },
  {
    name: '#72 the same header without a method-override middleware',
    send: ({ url }) => postSigned(url, BODY, { 'x-http-method-override': 'DELETE' }),
    outcome: DELIVERED,
  },
])
