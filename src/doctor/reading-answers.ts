/** Reads an answer: the receiver's report, a refusal of the receiver's, or somebody else's words. */
import { ANSWERS, REPLIES, type AnswerName } from '../http/replies.ts'
import type { Facts } from './facts.ts'
import { finding, type Finding } from './findings.ts'
import { markingKeys } from './mark.ts'
import type { Probe } from './probe.ts'
import { ANSWER_HEADER, unseal } from './seal.ts'
import type { Answered, Unanswered } from './sending.ts'

export type Reply =
  | { readonly kind: 'report'; readonly facts: Facts; readonly tookMs: number }
  /** A receiver's that knows the Auth Key, and has another signing secret. */
  | { readonly kind: 'onlyAuthKey' }
  /** One of our refusals. */
  | { readonly kind: 'refusal'; readonly name: AnswerName; readonly dateMs: number | undefined }
  /** Nobody answered, or somebody else did. */
  | { readonly kind: 'other'; readonly finding: Finding; readonly status: number | undefined }

export function readReply(url: URL, probe: Probe, outcome: Answered | Unanswered): Reply {
  if (outcome.kind === 'unanswered')
    return { kind: 'other', finding: explainSilence(url, outcome.code), status: undefined }
  const { status, headers, text, tookMs } = outcome
  const sealed = headers[ANSWER_HEADER]
  for (const key of markingKeys(probe.pair)) {
    const report = typeof sealed === 'string' ? unseal(sealed, key, probe.messageId) : undefined
    if (report !== undefined)
      return 'onlyAuthKey' in report ? { kind: 'onlyAuthKey' } : { kind: 'report', facts: report, tookMs }
  }
  const name = nameOf(status, text)
  if (name === undefined) return { kind: 'other', finding: explainOther(url, probe, outcome), status }
  const dateMs = headers.date === undefined ? NaN : Date.parse(headers.date)
  return { kind: 'refusal', name, dateMs: Number.isNaN(dateMs) ? undefined : dateMs }
}

function nameOf(status: number, text: string): AnswerName | undefined {
  // `Object.keys` of a constant gives its keys and no others.
  const names = Object.keys(ANSWERS) as AnswerName[]
  return names.find(
    (name) => REPLIES[name].body !== undefined && REPLIES[name].status === status && REPLIES[name].body === text,
  )
}

const CERTIFICATE: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'It is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'Its authority is nobody’s: a self-signed one.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The intermediate certificates are missing.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'Its authority is not known, or intermediate certificates are missing.',
  UNABLE_TO_GET_ISSUER_CERT: 'Intermediate certificates are missing.',
  CERT_HAS_EXPIRED: 'It has expired.',
  CERT_NOT_YET_VALID: 'It is not valid yet: compare the clocks.',
  CERT_REVOKED: 'It was revoked.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'It is for another name than that in the URL.',
}

function explainSilence(url: URL, code: string): Finding {
  const certificate = CERTIFICATE[code]
  if (certificate !== undefined) return finding('tls_untrusted', `${certificate} (${code})`)
  if (code === 'ECONNREFUSED') return finding('nothing_listens', `(${code})`)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return finding('host_unknown', `(${code})`)
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return finding('tls_failed', `(${code})`)
  if (code === 'timeout') return finding('no_answer', 'None came in time.')
  const hint = url.protocol === 'http:' ? ' Does the port speak TLS? Then the URL begins with https.' : ''
  return finding('no_answer', `The connection failed (${code}).${hint}`)
}

function explainOther(url: URL, probe: Probe, { status, headers, text }: Answered): Finding {
  if (status >= 300 && status < 400 && headers.location !== undefined)
    return explainRedirect(url, status, headers.location)
  const what = `It answered ${status}${saidOf(probe, text)}.`
  if (status === 405) return finding('method_refused', what)
  if (status === 413) return finding('body_limit', `A small probe was answered ${status} already.`)
  if (status === 404 || status === 410) return finding('path_unknown', what)
  if (status === 401 || status === 403 || status === 407) return finding('access_denied', what)
  if (status >= 502 && status <= 504) return finding('proxy_failed', what)
  if (status >= 500) return finding('server_failed', what)
  return finding(
    'other_handler',
    status >= 200 && status < 300
      ? `${what} Or something on the way takes headers such as \`${ANSWER_HEADER}\` off answers.`
      : what,
  )
}

/** Where it leads, without what may be secret in it. */
function explainRedirect(url: URL, status: number, location: string): Finding {
  const target = URL.parse(location, url.href)
  if (target === null) return finding('redirect', `It answered ${status}.`)
  const what = `It answered ${status} and points to ${shownUrl(target)}.`
  const isOnlyHttps = url.protocol === 'http:' && target.protocol === 'https:' && target.hostname === url.hostname
  return finding(isOnlyHttps ? 'enforce_https' : 'redirect', what)
}

/** Without user, password, query and fragment. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.slice(0, 200)
}

const MOST_SAID = 100
/** Tags and control characters, and what changes the direction of a line. */
const MARKUP = /<[^>]*>|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Its first words; nothing of an answer that quotes what was sent. */
function saidOf({ pair, messageId, signature }: Probe, text: string): string {
  const secrets = [pair.authKey?.toString(), pair.secretKey?.export().toString('utf8'), messageId, signature]
  const quotes = secrets.some(
    (secret) => secret !== undefined && (text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1))),
  )
  if (quotes) return ', with words that quote the probe and are not shown'
  const title = /<title>([^<]*)<\/title>/i.exec(text)?.[1]
  const said = (title ?? text).replaceAll(MARKUP, ' ').replaceAll(/\s+/g, ' ').trim()
  if (said === '') return ', without a word'
  return `: “${said.length > MOST_SAID ? `${said.slice(0, MOST_SAID)}…` : said}”`
}
