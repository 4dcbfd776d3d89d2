/** Creates a probe with a body like that of the service, and posts it. */
import { signCallback } from '../../testing/sign.ts'
import { monotonicMs, type Clock } from '../../runtime/clock.ts'
import { ANSWER_HEADER, makeProbeId, type ProbePair } from './protocol.ts'

export interface Probe {
  readonly messageId: string
  readonly sentAtMs: number
  readonly pair: ProbePair
  readonly body: Buffer
  readonly signature: string | undefined
}

interface Answered {
  readonly status: number
  /** The receiver's answer to the probe. */
  readonly answer: string | undefined
  /** The code of a receiver's refusal. */
  readonly code: string | undefined
  readonly location: string | undefined
  /** The server's time, to the second. NaN if unknown. */
  readonly dateMs: number
  readonly tookMs: number
}

/** Maximum number of bytes read from an answer. */
const READ_BYTES = 4_096

export function makeProbe(pair: ProbePair, project: string | undefined, sentAtMs: number): Probe {
  const { authKey, secretKey } = pair
  const messageId = makeProbeId(pair)
  const fields: readonly (readonly [name: string, json: string | undefined])[] = [
    ['project', JSON.stringify(project)],
    ['messageId', JSON.stringify(messageId)],
    ['status', '"probe"'],
    // Parsing and serialising the body again would change the escapes, the zero and the spaces.
    ['note', String.raw`"A probe of messaging-webhooks\/doctor, caf\u00e9 and café"`],
    ['number', '1.0'],
    ['authKey', JSON.stringify(authKey?.toString())],
  ]
  const written = fields.flatMap(([name, json]) => (json === undefined ? [] : [`"${name}" : ${json}`]))
  const body = Buffer.from(`{${written.join(' , ')}}`)
  const timestamp = Math.floor(sentAtMs / 1_000)
  const signature = secretKey && signCallback(body, secretKey.export().toString('utf8'), { timestamp })
  return { messageId, sentAtMs, pair, body, signature }
}

/**
 * Follows no redirect. Never rejects because of the app or the network. `failure` is Node's code, such as `ECONNREFUSED`, or
 * `timeout`.
 */
export async function post(
  url: URL,
  { body, signature }: Probe,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<Answered | { readonly failure: string }> {
  const stop = new AbortController()
  const cancel = clock.setTimer(() => stop.abort(), timeoutMs, true)
  const sinceMs = monotonicMs()
  try {
    const response = await fetch(withoutUser(url), {
      method: 'POST',
      body: new Uint8Array(body),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(signature !== undefined && { 'x-service-signature': signature }),
        ...(url.username !== '' && { authorization: basicAuthorization(url) }),
      },
      redirect: 'manual',
      signal: stop.signal,
    })
    const tookMs = monotonicMs() - sinceMs
    const { status, headers } = response
    return {
      status,
      answer: headers.get(ANSWER_HEADER) ?? undefined,
      code: codeIn(await readStart(response)),
      location: headers.get('location') ?? undefined,
      dateMs: Date.parse(headers.get('date') ?? ''),
      tookMs,
    }
  } catch (error) {
    return { failure: stop.signal.aborted ? 'timeout' : failureOf(error) }
  } finally {
    cancel()
  }
}

/** `fetch` accepts no user in a URL. */
function withoutUser(url: URL): URL {
  return Object.assign(new URL(url), { username: '', password: '' })
}

function basicAuthorization({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`
}

/** The beginning of an answer. Leaving the loop cancels the rest. */
async function readStart({ body }: Response): Promise<string> {
  const arriving: AsyncIterable<Uint8Array> | readonly Uint8Array[] = body ?? []
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of arriving) {
    pieces.push(piece)
    length += piece.length
    if (length >= READ_BYTES) break
  }
  return Buffer.concat(pieces).toString()
}

/** The code in a refusal of a receiver, which has exactly this form. */
function codeIn(text: string): string | undefined {
  return /^\{"error":\{"code":"([a-z_]{1,40})","message":"[^"]*"\}\}$/.exec(text)?.[1]
}

/** The cause's code: `fetch` rejects with a TypeError. */
function failureOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
}
