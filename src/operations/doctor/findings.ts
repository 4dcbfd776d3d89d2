/** Every finding of the doctor, in one table. The guide's table, the texts and the levels all derive from it. */
import type { CallbackKind } from '../../public/events.ts'

/** `problem`: callbacks are lost, or will be. `warning`: callbacks may be lost later. */
export type DoctorFindingLevel = 'problem' | 'warning' | 'ok'

type Row = readonly [level: DoctorFindingLevel, what: string, fix: string]

const NOTHING_TO_DO = 'No action needed.'

export const FINDINGS = {
  nothing_listens: [
    'problem',
    'No server listens at the URL.',
    'Start the app and check the port. In a container, publish the port and listen on 0.0.0.0.',
  ],
  host_unknown: ['problem', 'The host name of the URL has no address.', 'Check its spelling and its DNS record.'],
  no_answer: [
    'problem',
    'The URL gave no answer.',
    'Check the log of the app, the proxy in front, and middleware that never calls `next`.',
  ],
  tls_failed: [
    'problem',
    'The TLS connection failed, or the certificate is not trusted.',
    'Use a certificate of a public authority for this host name, with all intermediate certificates, and renew it in time. Check whether the port serves plain http.',
  ],
  https_missing: [
    'warning',
    'The URL is plain http and leaves this machine.',
    'Register an https URL. Anyone on the network path can read the Auth Key, and with Enforce HTTPS the service does not post here.',
  ],
  redirect: [
    'problem',
    'The URL redirects, and the service follows no redirects.',
    'Register the target URL, or answer at this one: check trailing slashes, host names and logins.',
  ],
  path_unknown: [
    'problem',
    'The server answers, but nothing accepts POSTs at this path.',
    'Compare the path of the URL with the mount, the prefixes of routers and proxies, and the method of the route (POST).',
  ],
  access_denied: [
    'problem',
    'A component in front of the receiver refused the request.',
    'Allow POSTs to this path without a login, an API key or a CSRF token, and check the firewall. If your own handler checks signatures there, mount the receiver in its place.',
  ],
  server_failed: [
    'problem',
    'The app, or a proxy in front of it, failed before the receiver answered.',
    'Find the error in the log of the app. It usually comes from middleware: mount the receiver before it. If a proxy answered, start the app, and compare the proxy’s target with its address.',
  ],
  other_handler: [
    'problem',
    'Another handler answered, not a receiver with this pair.',
    'Mount the receiver at this path, before any other handler of these requests. Check for a proxy that removes unknown headers of answers.',
  ],
  unavailable: [
    'problem',
    'The answer was 503: the receiver cannot accept callbacks, or a proxy cannot reach the app.',
    'Find the reason in the log of the app or in `onError`: usually the credentials function or the store. If there is none, start the app, and compare the proxy’s target with its address.',
  ],
  body_lost: [
    'problem',
    'The body was too large, or arrived incomplete, compressed or too slowly.',
    'Check for a proxy that limits, truncates, compresses or delays bodies, and the `maxBodyBytes` of the receiver.',
  ],
  receiver_answers: ['ok', 'The receiver answered and has this pair.', NOTHING_TO_DO],
  kind_differs: [
    'problem',
    'Another kind of callback is mounted at this URL.',
    'Register the URL for that kind at the service, or mount `receiver.middleware` with the registered kind.',
  ],
  pair_wrong: [
    'problem',
    'The receiver answered 401: the pair or the received bytes are wrong.',
    'Compare Auth Key, signing secret and project with the service’s dashboard, look for quotes or line ends, and give the doctor both halves. If they are correct, call `receiver.doctor()` in the app: it also detects an earlier body parser, and changes to the body or the header.',
  ],
  pair_half: [
    'problem',
    'Only one half of the pair matches.',
    'Configure both halves, from the same page of the service’s dashboard.',
  ],
  parsed_before: [
    'problem',
    'A body parser ran before the receiver, so it cannot check signatures.',
    'Mount the receiver before `express.json()` and other parsers, or keep the bytes in `req.rawBody`.',
  ],
  probe_changed: [
    'problem',
    'The body or the signature header changed in transit, so the signature does not match.',
    'Configure the proxy or gateway to forward bodies and `X-Service-Signature` unchanged. `receiver.doctor()` in the app tells which of them changed.',
  ],
  proof_intact: ['ok', 'Body and signature header arrive unchanged.', NOTHING_TO_DO],
  clock_off: [
    'problem',
    'The app’s clock and this machine’s differ.',
    'Correct the wrong clock (NTP), then run `receiver.quarantine.reverify({ clockOffsetSeconds })` for the refused callbacks.',
  ],
  slow: [
    'warning',
    'Answers take longer than a second.',
    'Check the store, the credentials function, and middleware before the receiver. The service does not retry after a timeout.',
  ],
  store_away: [
    'problem',
    'The store does not answer.',
    'Find the reason in the log of the app, and the code in the reference of errors. For `store_unmigrated`, run `npx messaging-webhooks migrate`.',
  ],
  store_answers: ['ok', 'The store answers.', NOTHING_TO_DO],
  types_unhandled: [
    'warning',
    'No handler listens to some event types of this URL. Such events are settled without a handler.',
    'Attach handlers for them, or one for all types with `receiver.onAny(…)`.',
  ],
  handlers_listen: ['ok', 'Handlers listen to all events of this URL.', NOTHING_TO_DO],
} as const satisfies Readonly<Record<string, Row>>

/** The code of a finding. Codes are stable. */
export type DoctorFindingCode = keyof typeof FINDINGS

/** One finding of the doctor: what it measured, and how to fix a problem. */
export interface DoctorFinding {
  readonly code: DoctorFindingCode
  readonly level: DoctorFindingLevel
  /** One or two sentences, with the measured value. Never a secret or a body. */
  readonly what: string
  /** The next action. */
  readonly fix: string
}

/** The result of `receiver.doctor()`, as plain data. */
export interface DoctorReport {
  /** True if no finding is a problem or a warning. */
  readonly ok: boolean
  /** The probed URL, without user and password. */
  readonly url: string
  /** The requested kind. Undefined if none was given. */
  readonly kind: CallbackKind | undefined
  readonly findings: readonly DoctorFinding[]
}

/** `detail`: the measured value. */
export function finding(code: DoctorFindingCode, detail?: string): DoctorFinding {
  const [level, what, fix] = FINDINGS[code]
  return { code, level, what: detail === undefined ? what : `${what} ${detail}`, fix }
}

const STATUSES: Readonly<Record<number, DoctorFindingCode>> = {
  401: 'access_denied',
  403: 'access_denied',
  404: 'path_unknown',
  405: 'path_unknown',
  407: 'access_denied',
  408: 'body_lost',
  410: 'path_unknown',
  413: 'body_lost',
  415: 'body_lost',
  503: 'unavailable',
}

/** The likely cause of a status other than 2xx. `target`: where a redirect points to. */
export function findingOfStatus(status: number, target?: string): DoctorFinding {
  const answered = `It answered ${status}${target === undefined ? '' : ` and points to ${target}`}.`
  if (status >= 300 && status < 400) return finding('redirect', answered)
  return finding(STATUSES[status] ?? (status >= 500 ? 'server_failed' : 'other_handler'), answered)
}

export function isWell(findings: readonly DoctorFinding[]): boolean {
  return findings.every(({ level }) => level !== 'problem' && level !== 'warning')
}
