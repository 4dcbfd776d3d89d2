/**
 * The doctor: sends a signed probe through an app's real stack, as the service would, and reports problems on the way. In the
 * app's own process it also reports why the probe was refused or changed, and checks the app itself. Findings quote no secret
 * and no body. protocol.ts describes the probe and its answer.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Clock, monotonicMs } from '../../runtime/clock.ts'
import type { CallbackKind } from '../../public/events.ts'
import {
  readAnswer,
  type Probes,
  type SeenProbe,
  type Answer,
  type ProbePair,
  ANSWER_HEADER,
  makeProbeId,
} from './protocol.ts'
import {
  finding,
  findingOfStatus,
  isWell,
  type DoctorFinding,
  type DoctorFindingCode,
  type DoctorReport,
} from './findings.ts'
import { parsedJson } from '../../runtime/values.ts'
import { signCallback } from '../../testing/sign.ts'

interface Examination {
  readonly url: URL
  readonly kind: CallbackKind | undefined
  readonly project: string | undefined
  readonly pair: ProbePair
  readonly timeoutMs: number
  readonly clock: Clock
  /** The receiver of this process, if there is one. */
  readonly own:
    | {
        readonly expect: Probes['expect']
        /** Checks of the app itself. */
        readonly app: () => Promise<readonly DoctorFinding[]>
      }
    | undefined
}

/** The service expects a prompt answer. */
const PROMPT_MS = 1_000
/** Smaller differences may be the time in transit, or of an NTP client that is about to correct them. */
const CLOCK_MS = 30_000

/** Returns findings for failures of the app or the network, and never rejects because of them. */
export async function examine({ pair, project, own, ...asked }: Examination): Promise<DoctorReport> {
  const { url, kind, clock } = asked
  const probe = makeProbe(pair, project, clock.now())
  const seenHere = own?.expect(probe.messageId)
  const outcome = await post(url, probe, asked)
  const seen = seenHere?.()
  const findings: DoctorFinding[] = []
  if ('failure' in outcome) findings.push(judgeSilence(url, outcome.failure))
  else {
    const { status, code, tookMs, dateMs, location } = outcome
    const answer = outcome.answer === undefined ? undefined : readAnswer(outcome.answer, probe.messageId, pair)
    // A proxy may set its own `Date`.
    const theirsMs = answer === undefined ? dateMs : answer.atSeconds * 1_000
    const offMs = theirsMs - (probe.sentAtMs + tookMs / 2)
    // The receiver decides by its own tolerance, which may be lower.
    const isOff = answer?.observation === 'stale' || Math.abs(offMs) > CLOCK_MS
    const clockOff = isOff ? judgeOffset(offMs / 1_000) : undefined
    if (answer !== undefined) {
      findings.push(finding('receiver_answers'), ...judgeKind(kind, answer.kind))
      // A probe that is refused for its time says nothing else about the proof.
      if (answer.observation !== 'stale') findings.push(judgeProof(probe, answer, seen))
      if (clockOff !== undefined) findings.push(clockOff)
      if (tookMs > PROMPT_MS) findings.push(finding('slow', `This one took ${Math.round(tookMs)} ms.`))
    } else if (code === 'not_authentic')
      findings.push((seen && judgeRefusal(probe, seen)) ?? clockOff ?? finding('pair_wrong'))
    else if (code !== undefined && code !== 'method_not_allowed')
      findings.push(finding(code === 'unavailable' ? code : 'body_lost', `(${code})`))
    else {
      const target = status >= 300 && status < 400 ? URL.parse(location ?? '', url.href) : null
      findings.push(findingOfStatus(status, target === null ? undefined : shownUrl(target)))
    }
  }
  findings.push(...((await own?.app()) ?? []))
  if (url.protocol === 'http:' && !isLoopback(url)) findings.push(finding('https_missing'))
  return { ok: isWell(findings), url: shownUrl(url), kind, findings }
}

/** Without a kind, a mount reads delivery reports by their shape. */
function judgeKind(asked: CallbackKind | undefined, kind: CallbackKind | undefined): readonly DoctorFinding[] {
  if (asked === undefined || asked === kind || (asked === 'status' && kind === undefined)) return []
  const mounted = kind === undefined ? 'without a kind, which accepts only delivery reports' : `for \`${kind}\``
  return [finding('kind_differs', `It is mounted ${mounted}; \`${asked}\` was requested.`)]
}

function judgeProof(probe: Probe, { observation, isWhole }: Answer, seen: SeenProbe | undefined): DoctorFinding {
  const { authKey, secretKey } = probe.pair
  if (observation === 'parsed') return finding('parsed_before')
  if (observation === 'unsigned' && secretKey !== undefined)
    return finding('pair_half', 'The app has only the Auth Key and checks no signature.')
  if (observation === 'signature_invalid' && secretKey !== undefined)
    return isWhole
      ? finding('probe_changed', seen && changeOf(probe, seen))
      : finding('pair_half', 'The Auth Key matches; the signing secret does not.')
  if (observation === 'auth_key_invalid' && authKey !== undefined)
    return finding('pair_half', 'The signing secret matches; the Auth Key does not.')
  return finding('proof_intact')
}

/** Explains a refusal by the receiver of this process. */
function judgeRefusal(probe: Probe, seen: SeenProbe): DoctorFinding | undefined {
  const { refused, isParsed } = seen
  if (isParsed) return finding('parsed_before')
  const change = changeOf(probe, seen)
  if (change !== undefined) return finding('probe_changed', change)
  if (refused?.offsetSeconds !== undefined) return judgeOffset(refused.offsetSeconds)
  return refused && finding('pair_wrong', `The receiver’s reason: ${refused.code}.`)
}

function changeOf({ body, signature }: Probe, { bytes, signatures }: SeenProbe): string | undefined {
  if (!bytes.equals(body)) {
    const how = isSameJson(bytes, body) ? 'The JSON of the body was parsed and serialised again: ' : 'Of the body, '
    return `${how}${body.length} bytes were sent, ${bytes.length} arrived.`
  }
  if (signature === undefined || (signatures.length === 1 && signatures[0] === signature)) return undefined
  if (signatures.length === 1) return 'The header arrived with another value.'
  return signatures.length === 0 ? 'The header was removed.' : `The header arrived ${signatures.length} times.`
}

function isSameJson(arrived: Buffer, sent: Buffer): boolean {
  try {
    return isDeepStrictEqual(parsedJson(arrived.toString()), parsedJson(sent.toString()))
  } catch {
    // Nested too deeply to compare.
    return false
  }
}

function judgeOffset(seconds: number): DoctorFinding {
  const direction = seconds < 0 ? 'behind' : 'ahead of'
  return finding('clock_off', `The app’s clock is ${Math.abs(Math.round(seconds))} s ${direction} this machine’s.`)
}

const FAILURES: Readonly<Record<string, DoctorFindingCode>> = {
  ECONNREFUSED: 'nothing_listens',
  ENOTFOUND: 'host_unknown',
  EAI_AGAIN: 'host_unknown',
}
const TLS_FAILURE = /^(EPROTO|ERR_SSL|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/

function judgeSilence({ protocol }: URL, failure: string): DoctorFinding {
  if (TLS_FAILURE.test(failure)) return finding('tls_failed', `(${failure})`)
  const hint = protocol === 'http:' && failure !== 'timeout' ? ' If the port serves TLS, use an https URL.' : ''
  const code = FAILURES[failure] ?? 'no_answer'
  return finding(code, `(${failure})${code === 'no_answer' ? hint : ''}`)
}

function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

/** Without user, password, query and fragment. */
function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.slice(0, 200)
}

const READ_BYTES = 4_096

type Probe = ReturnType<typeof makeProbe>

/** Its body is like that of the service. */
function makeProbe(pair: ProbePair, project: string | undefined, sentAtMs: number) {
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
async function post(
  url: URL,
  { body, signature }: Probe,
  { clock, timeoutMs }: Pick<Examination, 'clock' | 'timeoutMs'>,
) {
  const stop = new AbortController()
  const cancel = clock.setTimer(() => stop.abort(), timeoutMs, true)
  const sinceMs = monotonicMs()
  try {
    // `fetch` accepts no user in a URL.
    const response = await fetch(Object.assign(new URL(url), { username: '', password: '' }), {
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
      /** The receiver's answer to the probe. */
      answer: headers.get(ANSWER_HEADER) ?? undefined,
      /** The code of a receiver's refusal. */
      code: codeIn(await readStart(response)),
      location: headers.get('location') ?? undefined,
      /** The server's time, to the second. NaN if unknown. */
      dateMs: Date.parse(headers.get('date') ?? ''),
      tookMs,
    }
  } catch (error) {
    return { failure: stop.signal.aborted ? 'timeout' : failureOf(error) }
  } finally {
    cancel()
  }
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
