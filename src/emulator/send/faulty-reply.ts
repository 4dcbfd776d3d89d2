/** An answer that meets a fault on its way to the client. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SendFaultName } from '../faults/send-faults.ts'
import { reply } from '../reply.ts'

interface FaultyAnswer {
  readonly status: number
  readonly body: object
  /** Resolves when a callback of the send was answered, or none came in time. */
  readonly reported: Promise<unknown> | undefined
}

export const BAD_GATEWAY_STATUS = 502
/** What a gateway says whose upstream broke off. */
const PAGE = '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>'

export async function replyWithFault(
  { socket }: IncomingMessage,
  response: ServerResponse,
  fault: Exclude<SendFaultName, 'lostRequest'>,
  { status, body, reported }: FaultyAnswer,
): Promise<void> {
  switch (fault) {
    case 'noAnswer':
      socket.resetAndDestroy()
      return
    case 'silence':
      return
    case 'halfAnswer': {
      const text = JSON.stringify(body)
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      response.write(text.slice(0, text.length / 2), () => socket.destroy())
      return
    }
    case 'badGateway':
      response.writeHead(BAD_GATEWAY_STATUS, { 'content-type': 'text/html', 'content-length': PAGE.length }).end(PAGE)
      return
    case 'lateAnswer':
      await reported
      reply(response, status, body)
  }
}
