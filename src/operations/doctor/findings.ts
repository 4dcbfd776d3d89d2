/** Every finding of the doctor, in one table. The guide's table, the texts and the levels all derive from it. */
import type { CallbackKind } from '../../public/events.ts'

/**
 * `problem`: callbacks are lost, or will be. `warning`: callbacks may be lost later. `unknown`: the doctor could not measure
 * it.
 */
export type FindingLevel = 'problem' | 'warning' | 'ok' | 'unknown'

type Row = readonly [level: FindingLevel, what: string, fix: string]

const NOTHING_TO_DO = 'Nothing is to be done.'

/** Code, level, text and fix. */
export const FINDINGS = {
  nothing_listens: [
    'problem',
    'Nothing listens at the URL.',
    'Start the app, and compare the port; in a container, publish it and listen on 0.0.0.0.',
  ],
  host_unknown: ['problem', 'The name in the URL has no address.', 'Compare its spelling, and its DNS record.'],
  no_answer: [
    'problem',
    'The URL gave no answer.',
    'Look at the app’s own log, at what stands in front of it, and for middleware that never calls `next`.',
  ],
  tls_untrusted: [
    'problem',
    'The certificate of the URL is not one that a stranger trusts.',
    'Use one of a public authority, with all intermediate certificates, for exactly this name, and renew it in time.',
  ],
  tls_failed: [
    'problem',
    'The URL begins with https, and no TLS connection came about.',
    'Compare the port: does it speak plain http? Let the proxy in front end TLS.',
  ],
  https_missing: [
    'warning',
    'The URL is plain http, and leaves this machine.',
    'Register an https URL: everybody on the way can read the Auth Key, and with Enforce HTTPS the service does not post here.',
  ],
  enforce_https: [
    'problem',
    'Plain http is redirected to https (“Enforce HTTPS”), and a callback is not sent to where a redirect points.',
    'Register the https URL itself at the service.',
  ],
  redirect: [
    'problem',
    'The URL redirects, and a callback is not sent to where a redirect points.',
    'Register the URL that it leads to, or let this one answer itself: look at slashes at the end, host names and logins.',
  ],
  method_refused: [
    'problem',
    'The URL takes no POST.',
    'Mount the receiver with `app.post` or `app.use`; a route for GET alone does not do.',
  ],
  path_unknown: [
    'problem',
    'The server answers, and nothing is mounted at this path.',
    'Compare the path of the URL with that of the mount, with the prefix of a router or proxy, and with the method of the route (POST).',
  ],
  access_denied: [
    'problem',
    'Something in front of the receiver refused the request.',
    'Let POSTs to this path through without a login, an API key or a CSRF token, and look for a firewall. If a handler of your own checks signatures there, mount the receiver in its place.',
  ],
  server_failed: [
    'problem',
    'The app failed before the receiver could answer.',
    'Read the app’s log for the error that it threw: middleware before the receiver, most often. Mount the receiver before that middleware.',
  ],
  proxy_failed: [
    'problem',
    'A proxy or gateway answered that the app is unavailable.',
    'Compare the address and port that the proxy forwards to with those that the app listens on, and start the app.',
  ],
  other_handler: [
    'problem',
    'Another handler answered, not a receiver with this pair.',
    'Mount the receiver at this path, before any handler of your own that takes the same requests.',
  ],
  unavailable: [
    'problem',
    'The receiver answered 503: it could not take a callback now.',
    'Its log and `onError` say why: the credentials function, most often.',
  ],
  body_lost: [
    'problem',
    'The receiver answered that the body was not as announced.',
    'Look for a proxy that cuts bodies, compresses them, or holds them back for too long.',
  ],
  receiver_answers: ['ok', 'The receiver answered, and knows this pair.', NOTHING_TO_DO],
  uneven: [
    'problem',
    'The same probe is not always answered alike.',
    'Look at each process behind the URL: one may have another version, another pair, or another clock.',
  ],
  kind_differs: [
    'problem',
    'Another kind of callback is mounted at this URL.',
    'Register the URL for that kind at the service, or mount `receiver.middleware` with the kind that is registered.',
  ],
  project_missing: [
    'warning',
    'The app tells projects apart, and the probes named none, so the name in real callbacks was not tried.',
    'Run the doctor for each project, with its display name as the service sends it: `--project`, or `project` of `receiver.doctor()`.',
  ],
  pair_wrong: [
    'problem',
    'The receiver answered 401: the pair, the clock or the bytes that arrived are not the right ones.',
    'Compare Auth Key, signing secret and project with the service’s dashboard (a line end behind one?), and give the doctor both halves. If they are right, call `receiver.doctor()` in the app: it knows whether the clock is off, a parser ran before the receiver, or something on the way changed the body or the header.',
  ],
  pair_old: [
    'problem',
    'The app has the old pair alone.',
    'Give it the new one, and the old one with `notAfter` beside it until the change is through; then start it anew.',
  ],
  pair_half: [
    'problem',
    'Only one half of the pair is the app’s.',
    'Give the app both halves, from the same page of the service’s dashboard.',
  ],
  pair_ends: [
    'warning',
    'This pair is on its way out.',
    'Take the new pair here; the service uses it from its next callback on.',
  ],
  parsed_before: [
    'problem',
    'A body parser ran before the receiver, so that no signature can be checked.',
    'Mount the receiver before `express.json()` and the like, or keep the bytes in `req.rawBody`.',
  ],
  bytes_changed: [
    'problem',
    'The body was changed on the way, so that no signature holds.',
    'Let the proxy or gateway pass bodies through as they are.',
  ],
  body_compressed: [
    'problem',
    'Something on the way says that the body is compressed.',
    'Let the proxy or gateway pass requests through as they are.',
  ],
  header_missing: [
    'problem',
    'The signature header was taken off on the way.',
    'Let the proxy or gateway pass `X-Service-Signature` through.',
  ],
  header_changed: [
    'problem',
    'The signature header was changed on the way.',
    'Let the proxy or gateway pass `X-Service-Signature` through once, and as it is.',
  ],
  proof_intact: ['ok', 'Body and signature header arrive as they were sent.', NOTHING_TO_DO],
  clock_off: [
    'problem',
    'The app’s clock and this machine’s are too far apart for a signature to hold.',
    'Set the wrong one right (NTP), then run `receiver.quarantine.reverify({ clockOffsetSeconds })` for what was refused.',
  ],
  clock_drifts: [
    'warning',
    'The app’s clock and this machine’s are drifting apart.',
    'Set the wrong one right (NTP), before signatures are refused.',
  ],
  clock_right: ['ok', 'The app’s clock agrees with this machine’s.', NOTHING_TO_DO],
  slow: [
    'warning',
    'Answers take longer than a second.',
    'Look at the store, at the credentials function, and at middleware before the receiver; nothing is sent again after a time-out.',
  ],
  quick: ['ok', 'Answers come within a second.', NOTHING_TO_DO],
  body_limit: [
    'problem',
    'Something in front of the receiver takes smaller bodies than it does.',
    'Raise that limit (nginx: `client_max_body_size`; a parser: `limit`), or lower `maxBodyBytes` if it is meant.',
  ],
  body_fits: ['ok', 'Large bodies get through.', NOTHING_TO_DO],
  keep_alive_short: [
    'warning',
    'The app closes idle connections before whatever connects to it does: a callback that is sent at that moment is lost.',
    'Set `server.keepAliveTimeout` longer than the idle time of the proxy, for example 75_000.',
  ],
  keep_alive_long: ['ok', 'Idle connections are kept long enough.', NOTHING_TO_DO],
  keep_alive_unknown: [
    'unknown',
    'How long idle connections are kept could not be found out.',
    'Compare the idle time of the app’s server with that of the proxy in front.',
  ],
  store_unmigrated: [
    'problem',
    'The tables of the store are missing or old.',
    'Run `npx messaging-webhooks migrate` with a role that may.',
  ],
  store_away: [
    'problem',
    'The store does not answer.',
    'The app’s log says why, and the reference of errors what the code means.',
  ],
  store_answers: ['ok', 'The store answers.', NOTHING_TO_DO],
  memory_store: [
    'problem',
    'In production, events wait in memory: what is not handled when the process ends is lost.',
    'Set `store`: SQLite on one machine, Postgres or Redis on several.',
  ],
  no_spool: [
    'warning',
    'The store may be away one day, and there is no folder for what comes then.',
    'Let `spool` name a folder on a local disk, or set `spool: false` if that is what you want.',
  ],
  no_handler: [
    'problem',
    'No handler listens to what comes to this URL.',
    'Attach handlers with `receiver.on(…)` before the app listens.',
  ],
  types_unhandled: [
    'warning',
    'No handler listens to some of the types that come to this URL; such events are settled as they come.',
    'Attach handlers for them, or one for all with `receiver.onAny(…)`.',
  ],
  handlers_listen: ['ok', 'Handlers listen to all that comes to this URL.', NOTHING_TO_DO],
  networks_missing: [
    'warning',
    'Callbacks came from networks that `networks` does not name, with words of no table.',
    'Say in `networks` which carrier each of them is.',
  ],
} as const satisfies Readonly<Record<string, Row>>

/** A stable code. */
export type FindingCode = keyof typeof FINDINGS

export interface Finding {
  readonly code: FindingCode
  readonly level: FindingLevel
  /** One or two sentences, with the measured value. Never a secret or a body. */
  readonly what: string
  /** The next action. */
  readonly fix: string
}

/** The result of a doctor. Plain data. */
export interface Diagnosis {
  /** True if no finding is a problem or a warning. */
  readonly ok: boolean
  /** The probed URL, without user and password. */
  readonly url: string
  /** The requested kind. Undefined if none was given. */
  readonly kind: CallbackKind | undefined
  readonly findings: readonly Finding[]
}

/** `detail` holds the measured value. */
export function finding(code: FindingCode, detail?: string): Finding {
  const [level, what, fix] = FINDINGS[code]
  return { code, level, what: detail === undefined ? what : `${what} ${detail}`, fix }
}

export function isWell(findings: readonly Finding[]): boolean {
  return findings.every(({ level }) => level !== 'problem' && level !== 'warning')
}
