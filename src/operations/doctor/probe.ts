/** One probe: a body like the service's, its signature, and the POST that carries it. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { LivePair } from '../../verify/pair.ts'
import { elapsedMs, type Clock } from '../../runtime/clock.ts'
import { signCallback } from '../../testing/sign.ts'
import { makeMark, markingKeys } from './protocol.ts'

export type ProbePair = Pick<LivePair, 'authKey' | 'secretKey'>

/** Differences from the default probe. */
export interface ProbeForm {
  readonly pair?: ProbePair
  /** Length of the body, in bytes. */
  readonly length?: number
}

export interface Probe {
  readonly form: ProbeForm
  readonly messageId: string
  readonly sentAtMs: number
  readonly pair: ProbePair
  readonly body: Buffer
  readonly signature: string | undefined
}

export function makeProbe(usual: ProbePair, project: string | undefined, form: ProbeForm, sentAtMs: number): Probe {
  const pair = form.pair ?? usual
  const { authKey, secretKey } = pair
  const messageId = makeMark(markingKeys(pair), sentAtMs)
  const fields: readonly (readonly [name: string, json: string])[] = [
    ...(project === undefined ? [] : ([['project', JSON.stringify(project)]] as const)),
    ['messageId', JSON.stringify(messageId)],
    ['status', '"probe"'],
    // A serialiser would drop the escapes, the zero and the spaces.
    ['note', String.raw`"A probe of messaging-webhooks\/doctor, caf\u00e9 and café"`],
    ['number', '1.0'],
    ...(authKey === undefined ? [] : ([['authKey', JSON.stringify(authKey.toString())]] as const)),
  ]
  const body = padded(fields, form.length ?? 0)
  const timestamp = Math.floor(sentAtMs / 1_000)
  const signature = secretKey && signCallback(body, secretKey.export().toString('utf8'), { timestamp })
  return { form, messageId, sentAtMs, pair, body, signature }
}

function padded(fields: readonly (readonly [name: string, json: string])[], length: number): Buffer {
  const write = (padding: string): Buffer =>
    Buffer.from(
      `{${[...fields, ['padding', `"${padding}"`]].map(([name, json]) => `"${name}" : ${json}`).join(' , ')}}`,
    )
  return write('.'.repeat(Math.max(0, length - write('').length)))
}

export interface Answered {
  readonly kind: 'answered'
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The beginning of the response body. */
  readonly text: string
  readonly tookMs: number
  /** Sent on a connection that had been used before. */
  readonly reused: boolean
}

export interface Unanswered {
  readonly kind: 'unanswered'
  /** Node's code, such as `ECONNREFUSED`; `timeout` if no answer came in time. */
  readonly code: string
  readonly reused: boolean
}

interface SenderOptions {
  readonly clock: Clock
  readonly timeoutMs: number
}

/** Maximum number of bytes read from an answer. */
const READ_BYTES = 4_096

/** Posts to one URL and follows no redirect. With `keepAlive`, requests share one connection; otherwise each has its own. */
export async function createSender(url: URL, { clock, timeoutMs }: SenderOptions, keepAlive: boolean) {
  // A single-file bundle would load both with the receiver.
  const { request, Agent } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  // The process's global agent may use a proxy.
  const agent = new Agent({ keepAlive, maxSockets: 1 })
  const elapsed = elapsedMs()

  return {
    send({ body, signature }: Probe): Promise<Answered | Unanswered> {
      const sinceMs = elapsed()
      return new Promise((resolve) => {
        const headers = {
          'content-type': 'application/json',
          accept: 'application/json',
          'content-length': body.length,
          ...(signature === undefined ? {} : { 'X-Service-Signature': signature }),
        }
        const sent = request(url, { method: 'POST', agent, headers })
        /** A promise settles once: later calls change nothing. */
        function end(outcome: Answered | Unanswered): void {
          cancel()
          resolve(outcome)
        }
        const fail = (code: string): void => end({ kind: 'unanswered', code, reused: sent.reusedSocket })
        const cancel = clock.setTimer(
          () => {
            fail('timeout')
            sent.destroy()
          },
          timeoutMs,
          true,
        )
        sent.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'unknown'))
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
    close: (): void => agent.destroy(),
  }
}

/** A truncated answer counts as an answer. */
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
