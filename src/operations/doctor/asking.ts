/** Creates probes with bodies like those of the service, and posts them to a URL. */
import type { IncomingMessage } from 'node:http'
import { signCallback } from '../../testing/sign.ts'
import { elapsedMs, type Clock } from '../../runtime/clock.ts'
import type { RefusedProbe } from './answering.ts'
import { readReply, type Answered, type Probe, type ProbePair, type Reply, type Unanswered } from './answers.ts'
import { makeMark, markingKeys } from './protocol.ts'

export interface Target {
  readonly url: URL
  readonly project: string | undefined
  readonly pair: ProbePair
  readonly timeoutMs: number
  readonly clock: Clock
  /** Announces a probe to the receiver in this process, if there is one. The result returns why it refused the probe. */
  readonly expect: ((messageId: string) => () => RefusedProbe | undefined) | undefined
}

interface Asked {
  readonly outcome: Answered | Unanswered
  readonly reply: Reply
}

export type Exchange = Awaited<ReturnType<typeof createExchange>>

/** Maximum number of bytes read from an answer. */
const READ_BYTES = 4_096

/** Posts to one URL and follows no redirect. With `keepAlive`, requests share one connection; otherwise each has its own. */
export async function createExchange(target: Target, { keepAlive = false } = {}) {
  const { url, clock, timeoutMs } = target
  // Import dynamically: a single-file bundle would load both modules with the receiver.
  const { request, Agent } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  // Use a separate agent, because the global agent may use a proxy.
  const agent = new Agent({ keepAlive, maxSockets: 1 })
  const elapsed = elapsedMs()

  function send({ body, signature }: Probe): Promise<Answered | Unanswered> {
    const sinceMs = elapsed()
    return new Promise((resolve) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json',
        'content-length': body.length,
        ...(signature === undefined ? {} : { 'X-Service-Signature': signature }),
      }
      const sent = request(url, { method: 'POST', agent, headers })
      /** Later calls have no effect, because a promise settles once. */
      function end(outcome: Answered | Unanswered): void {
        cancel()
        resolve(outcome)
      }
      const fail = (code: string): void => end({ kind: 'unanswered', code, reused: sent.reusedSocket })
      function stop(): void {
        fail('timeout')
        sent.destroy()
      }
      const cancel = clock.setTimer(stop, timeoutMs, true)
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
  }

  return {
    /** `length`: minimum length of the body, in bytes. */
    async ask({ pair = target.pair, length = 0 } = {}): Promise<Asked> {
      const probe = makeProbe(pair, target.project, length, clock.now())
      const refusedHere = target.expect?.(probe.messageId)
      const outcome = await send(probe)
      return { outcome, reply: readReply(url, probe, outcome, refusedHere?.()) }
    },
    close: (): void => agent.destroy(),
  }
}

/** Reads the beginning of an answer. A truncated answer counts too. */
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

/** `length`: minimum length of the body, in bytes. */
function makeProbe(pair: ProbePair, project: string | undefined, length: number, sentAtMs: number): Probe {
  const { authKey, secretKey } = pair
  const messageId = makeMark(markingKeys(pair), sentAtMs)
  const fields: readonly (readonly [name: string, json: string])[] = [
    ...(project === undefined ? [] : ([['project', JSON.stringify(project)]] as const)),
    ['messageId', JSON.stringify(messageId)],
    ['status', '"probe"'],
    // Parsing and serialising the body again would change the escapes, the zero and the spaces.
    ['note', String.raw`"A probe of messaging-webhooks\/doctor, caf\u00e9 and café"`],
    ['number', '1.0'],
    ...(authKey === undefined ? [] : ([['authKey', JSON.stringify(authKey.toString())]] as const)),
  ]
  const body = padded(fields, length)
  const timestamp = Math.floor(sentAtMs / 1_000)
  const signature = secretKey && signCallback(body, secretKey.export().toString('utf8'), { timestamp })
  return { messageId, sentAtMs, pair, body, signature }
}

function padded(fields: readonly (readonly [name: string, json: string])[], length: number): Buffer {
  const write = (padding: string): Buffer =>
    Buffer.from(
      `{${[...fields, ['padding', `"${padding}"`]].map(([name, json]) => `"${name}" : ${json}`).join(' , ')}}`,
    )
  return write('.'.repeat(Math.max(0, length - write('').length)))
}
