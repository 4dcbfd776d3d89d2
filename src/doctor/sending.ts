/** Sends one POST to the one URL, follows nothing, and says how it was answered or why not. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { elapsedMs, type Clock } from '../clock.ts'

export interface Answered {
  readonly kind: 'answered'
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The beginning of its body. */
  readonly text: string
  readonly tookMs: number
  /** On a connection that had been used before. */
  readonly reused: boolean
}

export interface Unanswered {
  readonly kind: 'unanswered'
  /** Node's, as `ECONNREFUSED`; `timeout` where no answer came in time. */
  readonly code: string
  readonly reused: boolean
}

export interface Posted {
  readonly body: Buffer
  readonly contentType: string
  readonly signature: string | undefined
}

export interface Sender {
  send(posted: Posted): Promise<Answered | Unanswered>
  close(): void
}

/** More of an answer is not read. */
const READ_BYTES = 4_096

/** `keepAlive`: all requests go over one connection while it lasts; otherwise each has its own. */
export async function createSender(
  url: URL,
  { clock, timeoutMs, keepAlive = false }: { clock: Clock; timeoutMs: number; keepAlive?: boolean },
): Promise<Sender> {
  // A bundle in one file would load both with the receiver.
  const { request, Agent } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  // An agent of its own: that of the process may be set up to go through a proxy.
  const agent = new Agent({ keepAlive, maxSockets: 1 })
  const elapsed = elapsedMs()

  return {
    send({ body, contentType, signature }) {
      const sinceMs = elapsed()
      return new Promise((resolve) => {
        const headers = {
          'content-type': contentType,
          accept: 'application/json',
          'content-length': body.length,
          ...(signature === undefined ? {} : { 'X-Service-Signature': signature }),
        }
        const sent = request(url, { method: 'POST', agent, headers })
        let isOver = false
        function end(outcome: Answered | Unanswered): void {
          if (isOver) return
          isOver = true
          cancel()
          resolve(outcome)
        }
        const cancel = clock.setTimer(
          () => {
            end({ kind: 'unanswered', code: 'timeout', reused: sent.reusedSocket })
            sent.destroy()
          },
          timeoutMs,
          true,
        )
        sent.on('error', (error: NodeJS.ErrnoException) => {
          end({ kind: 'unanswered', code: error.code ?? 'unknown', reused: sent.reusedSocket })
        })
        sent.on('response', (response) => {
          const tookMs = elapsed() - sinceMs
          const { statusCode: status = 0, headers: answered } = response
          readStart(response, (text) => {
            end({ kind: 'answered', status, headers: answered, text, tookMs, reused: sent.reusedSocket })
            if (!response.readableEnded) sent.destroy()
          })
        })
        sent.end(body)
      })
    },
    close: () => agent.destroy(),
  }
}

/** An answer that breaks off is one all the same. */
function readStart(response: IncomingMessage, done: (text: string) => void): void {
  const pieces: Buffer[] = []
  let length = 0
  const finish = (): void => done(Buffer.concat(pieces).subarray(0, READ_BYTES).toString())
  response.on('data', (piece: Buffer) => {
    pieces.push(piece)
    length += piece.length
    if (length >= READ_BYTES) finish()
  })
  response.on('end', finish)
  response.on('error', finish)
}
