/** Reads the answer to a probe: the report or refusal of a receiver, or any other answer. */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { LivePair } from '../../verify/pair.ts'
import type { RefusedProbe } from './answering.ts'
import { finding, type DoctorFinding, type DoctorFindingCode } from './findings.ts'
import { ANSWER_HEADER, markingKeys, unseal, type Facts } from './protocol.ts'

/** The halves of a pair that sign and prove a probe. */
export type ProbePair = Pick<LivePair, 'authKey' | 'secretKey'>

export interface Probe {
  readonly messageId: string
  readonly sentAtMs: number
  readonly pair: ProbePair
  readonly body: Buffer
  readonly signature: string | undefined
}

export interface Answered {
  readonly kind: 'answered'
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The beginning of the response body. */
  readonly text: string
  readonly tookMs: number
  /** Whether the probe was sent on a connection that had been used before. */
  readonly reused: boolean
}

export interface Unanswered {
  readonly kind: 'unanswered'
  /** Node's code, such as `ECONNREFUSED`; `timeout` if no answer came in time. */
  readonly code: string
  readonly reused: boolean
}

export type Reply =
  | ({ readonly kind: 'report' } & ReportReply)
  /** The receiver knows the Auth Key but has another signing secret. */
  | { readonly kind: 'onlyAuthKey' }
  /** The 401 of a receiver: the pair, the time or the bytes are wrong. `refused` is set if the receiver of this process refused it. */
  | { readonly kind: 'notAuthentic'; readonly probe: Probe; readonly refused: RefusedProbe | undefined }
  /** Another refusal, no answer, or the answer of another handler. */
  | { readonly kind: 'other'; readonly finding: DoctorFinding }

export interface ReportReply {
  readonly probe: Probe
  readonly facts: Facts
  readonly tookMs: number
}

export function readReply(
  url: URL,
  probe: Probe,
  outcome: Answered | Unanswered,
  refused: RefusedProbe | undefined,
): Reply {
  if (outcome.kind === 'unanswered') return { kind: 'other', finding: explainSilence(url, outcome.code) }
  const sealed = outcome.headers[ANSWER_HEADER]
  for (const key of markingKeys(probe.pair)) {
    const facts = typeof sealed === 'string' ? unseal(sealed, key, probe.messageId) : undefined
    if (facts !== undefined)
      return 'onlyAuthKey' in facts ? { kind: 'onlyAuthKey' } : { kind: 'report', probe, facts, tookMs: outcome.tookMs }
  }
  const code = refusalCodeIn(outcome.text)
  if (code === 'not_authentic') return { kind: 'notAuthentic', probe, refused }
  const refusal = code === undefined ? undefined : REFUSALS[code]
  return {
    kind: 'other',
    finding: refusal === undefined ? explainOther(url, probe, outcome) : finding(refusal, `(${code})`),
  }
}

/** The form of a receiver's refusals. */
const refusalSchema = z.strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }) })

/** Refusals of a receiver with a status that would mislead. */
const REFUSALS: Readonly<Record<string, DoctorFindingCode>> = {
  content_encoding: 'body_compressed',
  body_too_slow: 'body_lost',
  body_incomplete: 'body_lost',
  unavailable: 'unavailable',
}

function refusalCodeIn(text: string): string | undefined {
  try {
    return refusalSchema.safeParse(JSON.parse(text)).data?.error.code
  } catch {
    return undefined
  }
}

const CERTIFICATE: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'It is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'Its authority is self-signed.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The intermediate certificates are missing.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'Its authority is unknown, or intermediate certificates are missing.',
  UNABLE_TO_GET_ISSUER_CERT: 'Intermediate certificates are missing.',
  CERT_HAS_EXPIRED: 'It has expired.',
  CERT_NOT_YET_VALID: 'It is not valid yet: check the clocks.',
  CERT_REVOKED: 'It was revoked.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'It is for another host name.',
}

function explainSilence(url: URL, code: string): DoctorFinding {
  const certificate = CERTIFICATE[code]
  if (certificate !== undefined) return finding('tls_untrusted', `${certificate} (${code})`)
  if (code === 'ECONNREFUSED') return finding('nothing_listens', `(${code})`)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return finding('host_unknown', `(${code})`)
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return finding('tls_failed', `(${code})`)
  if (code === 'timeout') return finding('no_answer', 'The request timed out.')
  const hint = url.protocol === 'http:' ? ' If the port serves TLS, use an https URL.' : ''
  return finding('no_answer', `The connection failed (${code}).${hint}`)
}

const STATUSES: Readonly<Record<number, DoctorFindingCode>> = {
  401: 'access_denied',
  403: 'access_denied',
  404: 'path_unknown',
  405: 'method_refused',
  407: 'access_denied',
  410: 'path_unknown',
  502: 'proxy_failed',
  503: 'proxy_failed',
  504: 'proxy_failed',
}

function explainOther(url: URL, probe: Probe, { status, headers, text }: Answered): DoctorFinding {
  if (status >= 300 && status < 400 && headers.location !== undefined)
    return explainRedirect(url, status, headers.location)
  if (status === 413) return finding('body_limit', `Even a probe of ${probe.body.length} bytes was answered ${status}.`)
  const what = `It answered ${status}${saidOf(probe, text)}.`
  if (status >= 200 && status < 300)
    return finding('other_handler', `${what} Or a proxy removes headers such as \`${ANSWER_HEADER}\` from answers.`)
  return finding(STATUSES[status] ?? (status >= 500 ? 'server_failed' : 'other_handler'), what)
}

/** Describes the target without its user, password and query. */
function explainRedirect(url: URL, status: number, location: string): DoctorFinding {
  const target = URL.parse(location, url.href)
  if (target === null) return finding('redirect', `It answered ${status}.`)
  const what = `It answered ${status} and points to ${shownUrl(target)}.`
  const isOnlyHttps = url.protocol === 'http:' && target.protocol === 'https:' && target.hostname === url.hostname
  return finding(isOnlyHttps ? 'enforce_https' : 'redirect', what)
}

/** Omits user, password, query and fragment. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.slice(0, 200)
}

const MAX_TEXT = 100
/** Tags, control characters, and characters that change the text direction. */
const MARKUP = /<[^>]*>|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The first words of an answer. Withheld if the answer quotes the probe. */
function saidOf({ pair, messageId, signature }: Probe, text: string): string {
  const secrets = [pair.authKey?.toString(), pair.secretKey?.export().toString('utf8'), messageId, signature]
  const quotes = secrets.some(
    (secret) => secret !== undefined && (text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1))),
  )
  if (quotes) return ', with a body that quotes the probe and is not shown'
  const title = /<title>([^<]*)<\/title>/i.exec(text)?.[1]
  const shown = (title ?? text).replaceAll(MARKUP, ' ').replaceAll(/\s+/g, ' ').trim()
  if (shown === '') return ', without a body'
  return `: “${shown.length > MAX_TEXT ? `${shown.slice(0, MAX_TEXT)}…` : shown}”`
}
