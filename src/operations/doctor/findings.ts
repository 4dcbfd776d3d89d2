/** Every finding of the doctor, in one table. The guide's table, the texts and the levels all derive from it. */
import type { CallbackKind } from '../../public/events.ts'

/**
 * `problem`: callbacks are lost, or will be. `warning`: callbacks may be lost later. `unknown`: the doctor could not measure
 * it.
 */
export type DoctorFindingLevel = 'problem' | 'warning' | 'ok' | 'unknown'

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
  tls_untrusted: [
    'problem',
    'The certificate of the URL is not trusted.',
    'Use a certificate of a public authority for this host name, with all intermediate certificates, and renew it in time.',
  ],
  tls_failed: [
    'problem',
    'The URL begins with https, but the TLS connection failed.',
    'Check whether the port serves plain http. Terminate TLS at the proxy in front.',
  ],
  https_missing: [
    'warning',
    'The URL is plain http and leaves this machine.',
    'Register an https URL. Anyone on the network path can read the Auth Key, and with Enforce HTTPS the service does not post here.',
  ],
  enforce_https: [
    'problem',
    'The URL redirects plain http to https (“Enforce HTTPS”), and the service follows no redirects.',
    'Register the https URL at the service.',
  ],
  redirect: [
    'problem',
    'The URL redirects, and the service follows no redirects.',
    'Register the target URL, or answer at this one: check trailing slashes, host names and logins.',
  ],
  method_refused: [
    'problem',
    'The URL does not accept POST.',
    'Mount the receiver with `app.post` or `app.use`, not with a route for GET.',
  ],
  path_unknown: [
    'problem',
    'The server answers, but nothing is mounted at this path.',
    'Compare the path of the URL with the mount, the prefixes of routers and proxies, and the method of the route (POST).',
  ],
  access_denied: [
    'problem',
    'A component in front of the receiver refused the request.',
    'Allow POSTs to this path without a login, an API key or a CSRF token, and check the firewall. If your own handler checks signatures there, mount the receiver in its place.',
  ],
  server_failed: [
    'problem',
    'The app failed before the receiver answered.',
    'Find the error in the log of the app. It usually comes from middleware: mount the receiver before it.',
  ],
  proxy_failed: [
    'problem',
    'A proxy or gateway reports that the app is unavailable.',
    'Start the app, and compare the address and port of the proxy’s target with those of the app.',
  ],
  other_handler: [
    'problem',
    'Another handler answered, not a receiver with this pair.',
    'Mount the receiver at this path, before any other handler of these requests.',
  ],
  unavailable: [
    'problem',
    'The receiver answered 503: it cannot accept callbacks at the moment.',
    'Find the reason in its log or in `onError`. It is usually the credentials function.',
  ],
  body_lost: [
    'problem',
    'The body arrived incomplete or too slowly.',
    'Check for a proxy that truncates, compresses or delays bodies.',
  ],
  receiver_answers: ['ok', 'The receiver answered and has this pair.', NOTHING_TO_DO],
  uneven: [
    'problem',
    'Identical probes got different answers.',
    'Compare the processes behind the URL: one may have another version, another pair or another clock.',
  ],
  kind_differs: [
    'problem',
    'Another kind of callback is mounted at this URL.',
    'Register the URL for that kind at the service, or mount `receiver.middleware` with the registered kind.',
  ],
  project_missing: [
    'warning',
    'The app distinguishes projects, but the probes named none, so the project name in real callbacks was not tested.',
    'Run the doctor for each project, with its display name as the service sends it: `--project`, or `project` of `receiver.doctor()`.',
  ],
  pair_wrong: [
    'problem',
    'The receiver answered 401: the pair, the clock or the received bytes are wrong.',
    'Compare Auth Key, signing secret and project with the service’s dashboard, check for trailing line ends, and give the doctor both halves. If they are correct, call `receiver.doctor()` in the app: it also detects a wrong clock, an earlier body parser, and changes to the body or the header.',
  ],
  pair_old: [
    'problem',
    'The app has only the old pair.',
    'Configure the new pair, keep the old one with `notAfter` until the rotation is complete, and restart the app.',
  ],
  pair_half: [
    'problem',
    'Only one half of the pair matches.',
    'Configure both halves, from the same page of the service’s dashboard.',
  ],
  pair_ends: [
    'warning',
    'This pair expires.',
    'Run the doctor with the new pair, which the service uses from its next callback on.',
  ],
  parsed_before: [
    'problem',
    'A body parser ran before the receiver, so it cannot check signatures.',
    'Mount the receiver before `express.json()` and other parsers, or keep the bytes in `req.rawBody`.',
  ],
  bytes_changed: [
    'problem',
    'The body changed in transit, so its signature does not match.',
    'Configure the proxy or gateway to forward bodies unchanged.',
  ],
  body_compressed: [
    'problem',
    'The request arrived with a header that declares a compressed body.',
    'Configure the proxy or gateway to forward requests unchanged.',
  ],
  header_missing: [
    'problem',
    'The signature header was removed in transit.',
    'Configure the proxy or gateway to forward `X-Service-Signature`.',
  ],
  header_changed: [
    'problem',
    'The signature header changed in transit.',
    'Configure the proxy or gateway to forward `X-Service-Signature` once and unchanged.',
  ],
  proof_intact: ['ok', 'Body and signature header arrive unchanged.', NOTHING_TO_DO],
  clock_off: [
    'problem',
    'The app’s clock and this machine’s differ by more than signatures allow.',
    'Correct the wrong clock (NTP), then run `receiver.quarantine.reverify({ clockOffsetSeconds })` for the refused callbacks.',
  ],
  clock_drifts: [
    'warning',
    'The app’s clock and this machine’s differ.',
    'Correct the wrong clock (NTP) before signatures are refused.',
  ],
  clock_right: ['ok', 'The app’s clock agrees with this machine’s.', NOTHING_TO_DO],
  slow: [
    'warning',
    'Answers take longer than a second.',
    'Check the store, the credentials function, and middleware before the receiver. The service does not retry after a timeout.',
  ],
  quick: ['ok', 'Answers come within a second.', NOTHING_TO_DO],
  body_limit: [
    'problem',
    'A component in front of the receiver accepts only smaller bodies.',
    'Raise its limit (nginx: `client_max_body_size`; a parser: `limit`), or lower `maxBodyBytes` to match.',
  ],
  body_fits: ['ok', 'Large bodies arrive.', NOTHING_TO_DO],
  keep_alive_short: [
    'warning',
    'The app closes idle connections too early: a callback sent at that moment is lost.',
    'Set `server.keepAliveTimeout` longer than the idle timeout of the proxy, for example 75_000.',
  ],
  keep_alive_long: ['ok', 'The app keeps idle connections long enough.', NOTHING_TO_DO],
  keep_alive_unknown: [
    'unknown',
    'The idle timeout of the app is unknown.',
    'Compare the idle timeout of the app’s server with that of the proxy in front.',
  ],
  store_unmigrated: [
    'problem',
    'The tables of the store are missing or outdated.',
    'Run `npx messaging-webhooks migrate` with a role that may create tables.',
  ],
  store_away: [
    'problem',
    'The store does not answer.',
    'Find the reason in the log of the app, and the code in the reference of errors.',
  ],
  store_answers: ['ok', 'The store answers.', NOTHING_TO_DO],
  memory_store: [
    'problem',
    'The app is in production with a store in memory: unhandled events are lost when the process ends.',
    'Set `store`: SQLite on one machine, Postgres or Redis on several.',
  ],
  no_spool: [
    'warning',
    'There is no spool: callbacks are lost while the store is unavailable.',
    'Set `spool` to a folder on a local disk, or to `false` to accept this.',
  ],
  no_handler: [
    'problem',
    'No handler listens to the events of this URL.',
    'Attach handlers with `receiver.on(…)` before the app listens.',
  ],
  types_unhandled: [
    'warning',
    'No handler listens to some event types of this URL. Such events are settled without a handler.',
    'Attach handlers for them, or one for all types with `receiver.onAny(…)`.',
  ],
  handlers_listen: ['ok', 'Handlers listen to all events of this URL.', NOTHING_TO_DO],
  networks_missing: [
    'warning',
    'Callbacks with unknown statuses came from networks that `networks` does not list.',
    'Add these networks and their carriers to `networks`.',
  ],
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

export function isWell(findings: readonly DoctorFinding[]): boolean {
  return findings.every(({ level }) => level !== 'problem' && level !== 'warning')
}
