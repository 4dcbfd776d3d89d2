/** Sends a probe and reads its answer: a receiver's report, a receiver's refusal, or something else. */
import { z } from 'zod'
import type { Clock } from '../../runtime/clock.ts'
import { finding, type DoctorFinding } from './findings.ts'
import {
  createSender,
  makeProbe,
  type Answered,
  type Probe,
  type ProbeForm,
  type ProbePair,
  type Unanswered,
} from './probe.ts'
import { ANSWER_HEADER, markingKeys, unseal, type Facts } from './protocol.ts'

/** Where probes go, and how. */
export interface Target {
  readonly url: URL
  readonly project: string | undefined
  readonly pair: ProbePair
  readonly timeoutMs: number
  readonly clock: Clock
  /** The receiver in this process, if there is one. It records why it refused a probe that was announced to it. */
  readonly own: { readonly watch: { expect(messageId: string): void } } | undefined
}

export interface Asked {
  readonly probe: Probe
  readonly outcome: Answered | Unanswered
  readonly reply: Reply
}

export type Reply =
  | ({ readonly kind: 'report' } & Heard)
  /** The receiver knows the Auth Key but has another signing secret. */
  | { readonly kind: 'onlyAuthKey' }
  /** A receiver's 401: the pair, the time or the bytes are wrong. */
  | { readonly kind: 'notAuthentic' }
  /** Another refusal, no answer, or not a receiver's. */
  | { readonly kind: 'other'; readonly finding: DoctorFinding }

/** A report and its probe. */
export interface Heard {
  readonly probe: Probe
  readonly facts: Facts
  readonly tookMs: number
}

export type Exchange = Awaited<ReturnType<typeof createExchange>>

export async function createExchange(target: Target, { keepAlive = false } = {}) {
  const { url, clock, pair, project, own } = target
  const sender = await createSender(url, target, keepAlive)
  return {
    async ask(form: ProbeForm = {}): Promise<Asked> {
      const probe = makeProbe(pair, project, form, clock.now())
      own?.watch.expect(probe.messageId)
      const outcome = await sender.send(probe)
      return { probe, outcome, reply: readReply(url, probe, outcome) }
    },
    close: sender.close,
  }
}

function readReply(url: URL, probe: Probe, outcome: Answered | Unanswered): Reply {
  if (outcome.kind === 'unanswered') return { kind: 'other', finding: explainSilence(url, outcome.code) }
  const sealed = outcome.headers[ANSWER_HEADER]
  for (const key of markingKeys(probe.pair)) {
    const report = typeof sealed === 'string' ? unseal(sealed, key, probe.messageId) : undefined
    if (report !== undefined)
      return 'onlyAuthKey' in report
        ? { kind: 'onlyAuthKey' }
        : { kind: 'report', probe, facts: report, tookMs: outcome.tookMs }
  }
  const code = refusalCodeIn(outcome.text)
  if (code === 'not_authentic') return { kind: 'notAuthentic' }
  return { kind: 'other', finding: explainRefusal(code, probe) ?? explainOther(url, probe, outcome) }
}

/** The form of a receiver's refusals. */
const refusalSchema = z.strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }) })

function refusalCodeIn(text: string): string | undefined {
  try {
    return refusalSchema.safeParse(JSON.parse(text)).data?.error.code
  } catch {
    return undefined
  }
}

/** Undefined if a receiver has no such code. */
function explainRefusal(code: string | undefined, { body }: Probe): DoctorFinding | undefined {
  switch (code) {
    case 'content_encoding':
      return finding('body_compressed')
    case 'method_not_allowed':
      return finding('method_refused', 'A POST arrived with another method.')
    case 'body_too_large':
      return finding('body_limit', `Even a probe of ${body.length} bytes is too large.`)
    case 'body_too_slow':
    case 'body_incomplete':
      return finding('body_lost', `(${code})`)
    case 'unavailable':
      return finding('unavailable')
    default:
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

function explainOther(url: URL, probe: Probe, { status, headers, text }: Answered): DoctorFinding {
  if (status >= 300 && status < 400 && headers.location !== undefined)
    return explainRedirect(url, status, headers.location)
  const what = `It answered ${status}${saidOf(probe, text)}.`
  if (status === 405) return finding('method_refused', what)
  if (status === 413) return finding('body_limit', `Even a probe of ${probe.body.length} bytes was answered ${status}.`)
  if (status === 404 || status === 410) return finding('path_unknown', what)
  if (status === 401 || status === 403 || status === 407) return finding('access_denied', what)
  if (status >= 502 && status <= 504) return finding('proxy_failed', what)
  if (status >= 500) return finding('server_failed', what)
  return finding(
    'other_handler',
    status >= 200 && status < 300
      ? `${what} Or a proxy removes headers such as \`${ANSWER_HEADER}\` from answers.`
      : what,
  )
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

const MOST_SAID = 100
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
  const said = (title ?? text).replaceAll(MARKUP, ' ').replaceAll(/\s+/g, ' ').trim()
  if (said === '') return ', without a body'
  return `: “${said.length > MOST_SAID ? `${said.slice(0, MOST_SAID)}…` : said}”`
}
