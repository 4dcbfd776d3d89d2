/**
 * Every error that a user can meet: what happened, and what to do. Codes are stable, and the reference's tables are generated
 * from this table. No text contains a body, key, secret or expected digest.
 */

/** The page that explains each code, under an anchor of its name. */
export const ERRORS_PAGE = 'https://github.com/messaging-webhooks/messaging-webhooks/blob/main/docs/reference/errors.md'

type Texts = Readonly<Record<string, readonly [happened: string, todo: string]>>

/** Thrown to the caller. */
export const THROWN = {
  options_invalid: [
    'An option or an argument cannot work.',
    'Nothing was done; the page of options says what each one takes.',
  ],
  pattern_unknown: [
    'There is no such event type, or a handler is no function.',
    'Use a type or a family of the page of events, or `onAny` for every event.',
  ],
  project_required: [
    '`messageState`, `expect`, `intend` or `forget` was called without the project of a message.',
    'Pass `{ project }`: a message id belongs to a project.',
  ],
  expect_unsupported: [
    'The store is one of your own that has no `overdue` and `scanSends`.',
    'Give it both, or use a store of this package.',
  ],
  send_repeated: [
    'A send with this `reference` was begun before. Nothing was sent now.',
    'It was sent, or nobody knows; `receiver.account` and `send.unknown` say. Another send needs another reference.',
  ],
  wait_timed_out: [
    '`waitFor` did not see the event in time.',
    'Check that the callback was answered 204 (`onError` hears why one is refused) and that no handler of it failed.',
  ],
  emulator_project_unknown: ['The emulator has no project of that name.', 'Names are compared exactly.'],
  emulator_listening: ['The emulator is listening already.', 'Close it first, or create another one.'],
  emulator_port: [
    'The emulator cannot listen on the port.',
    'Take 0, which picks a free one; `cause` says what failed.',
  ],
  emulator_closed: ['The emulator is closed.', 'Create a new one.'],
} as const satisfies Texts

/** A request was refused with the status in ANSWERS. Passed to `onError`, except for 405. */
export const REFUSED = {
  signature_missing: [
    'There is no signature header, and no authKey that would do instead.',
    'Check who posts to this URL, and that no proxy takes `X-Service-Signature` off.',
  ],
  signature_malformed: [
    'The signature header does not have the form `t=<unix seconds>,v1=<64 lowercase hex digits>`, or came twice.',
    'Look for a proxy that folds, repeats or rewrites headers.',
  ],
  signature_milliseconds: [
    'The `t` of the signature header has more than 12 digits.',
    'It must be in seconds; this one looks like milliseconds.',
  ],
  signature_mismatch: [
    'The signature matches none of the live secrets.',
    'Compare the signing secret (rotated? a line end behind it?); mount the receiver where the body is still unread.',
  ],
  signature_stale: [
    'The `t` of the signature header is further from this clock than `toleranceSeconds`; no other proof counts then.',
    'If the digest is right, it is a replay or a wrong clock: compare this machine with NTP.',
  ],
  auth_key_malformed: ['The `authKey` of the body is empty, or no string.', 'Check who posts to this URL.'],
  auth_key_mismatch: ['The `authKey` matches none of the live keys.', 'Compare the Auth Key; was it rotated?'],
  auth_key_missing: ['The policy asks for an authKey, and the body has none.', 'Check `proof` for this URL.'],
  signature_required: [
    'The authKey holds, but the policy asks for a signature that holds too.',
    'Check `proof` for this URL, and that no proxy takes `X-Service-Signature` off.',
  ],
  project_unknown: [
    'There are no credentials for the project that the body names, or for a body that names none.',
    'Add the project; names are compared exactly, case and white space included.',
  ],
  project_ambiguous: [
    'The body names no project, and the proof holds for several.',
    'Give each project a pair of credentials of its own.',
  ],
  project_name_too_long: ['The body names a project of more than 256 characters.', 'Check who posts to this URL.'],
  project_name_malformed: [
    'The name of the project in the body has a NUL or half a surrogate pair in it.',
    'Check who posts to this URL: the credentials function is not asked for such text.',
  ],
  probe_refused: [
    'A probe of the doctor came a second time, or more than a day late.',
    'A probe is never an event: no callback was lost. If you did not run the doctor, someone records and resends its requests.',
  ],
  body_already_parsed: [
    'A body parser ran before the receiver, so the signature cannot be checked over the exact bytes.',
    'Mount the receiver before the parser (in Express, before express.json()), or keep the bytes in `req.rawBody`.',
  ],
  body_already_read: [
    'Something read the request before the receiver and left nothing of it.',
    'Mount the receiver before whatever reads the body.',
  ],
  content_encoding: [
    'The body is compressed, and no proof holds over it.',
    'Look for a proxy that compresses requests on the way.',
  ],
  body_too_large: ['The body is larger than `maxBodyBytes`.', 'Raise it if the service sends such bodies.'],
  body_too_slow: [
    'The body did not arrive within `bodyTimeoutMs`, came in thousands of tiny pieces, or all but stood still while others waited for room.',
    'Look at the network and the proxies in front of this server.',
  ],
  body_incomplete: [
    'The body ended before its announced length.',
    'Look at the network and the proxies in front of this server.',
  ],
  method_not_allowed: [
    'The request is no POST.',
    'Callbacks are always POSTed: look for a redirect, method-override, or a health check on this URL.',
  ],
} as const satisfies Texts

/** A request was answered 503. Passed to `onError`. `start()` also rejects with those of a store that cannot be opened. */
export const UNAVAILABLE = {
  credentials_failed: [
    'The credentials function threw.',
    '`cause` is what it threw; the callback is kept in quarantine, and verified again by itself.',
  ],
  credentials_slow: [
    'The credentials function took longer than `lookupTimeoutMs`.',
    'Cache what it looks up; the callback is kept in quarantine, and verified again by itself.',
  ],
  credentials_invalid: [
    'The credentials function returned something that is no pair of non-empty strings.',
    'Return `{ authKey, signingSecret }`, a list of them, or undefined for an unknown project.',
  ],
  credentials_busy: [
    'Too many credentials look-ups are under way.',
    'Cache what the function looks up; the callback is kept in quarantine, and verified again by itself.',
  ],
  store_failed: ['The store threw.', '`cause` is what it threw; a callback that came meanwhile was not taken.'],
  store_slow: ['The store did not answer within `storeTimeoutMs`.', 'Look at the store; it may have taken it later.'],
  store_full: [
    'The store holds as many unsettled events as it may.',
    'Handlers are slower than arrivals, or keep failing: mend them, or raise the bounds of the store.',
  ],
  spool_failed: ['Neither the store nor the spool could take the callback.', 'Look at the disk of the spool.'],
  store_unsupported: [
    'This Node has no `node:sqlite`.',
    'Use Node 22.13 or later, built with SQLite, or another store.',
  ],
  store_foreign: [
    'The database file, schema or Redis prefix is not one of this package; it was left as it is.',
    'Give the store a file, a schema or a prefix of its own.',
  ],
  store_bundled: [
    'The package was bundled into the app, and the file of the SQLite store’s thread was left behind.',
    'Keep `messaging-webhooks` external: `external` in esbuild, Rollup and Bun, `externals` in webpack, `serverExternalPackages` in Next.js.',
  ],
  store_path_invalid: [
    'The database file cannot be made or opened: its folder does not exist, or its path is that of a folder.',
    'Make the folder, or give the store the path of a file.',
  ],
  store_newer: [
    'The database file, schema or Redis prefix was made by a newer version of this package; it was left as it is.',
    'Update this package.',
  ],
  store_locked: ['Another process holds the database file.', 'Stop it, or give each process a file of its own.'],
  store_unmigrated: [
    'The tables are missing or old, and this role may not make them.',
    'Run `npx messaging-webhooks migrate` with a role that may; the guide to the Postgres store says more.',
  ],
  store_forbidden: [
    'The role lacks privileges on the schema, or on its tables.',
    'Have their owner grant them, as the guide to the Postgres store says; `cause`, if there is one, says what was refused.',
  ],
  store_replaced: [
    'The database file was removed or replaced while it was open.',
    'Restart the process; put nothing else in the place of the file while it runs.',
  ],
  spool_unusable: [
    'The folder of the spool, or a file in it, cannot be used.',
    'Name a folder on a local disk that this process may write to; `cause` says what failed.',
  ],
  spool_full: ['The spool can take no more.', 'Bring the store back, so that the spool is emptied; free the disk.'],
  spool_damaged: [
    'A part of the spool could not be read and was skipped; what stands before and behind it was kept.',
    'Look at the disk: a callback that had been answered 204 may be lost.',
  ],
  disk_full: ['The disk of the spool is full; callbacks are still taken while its reserve lasts.', 'Free the disk.'],
  peer_missing: ['An optional package cannot be loaded.', 'Install it; `cause` says what failed.'],
  receiver_closed: [
    'The receiver is closed.',
    'Create a new one; on the way out, call `server.close()` before `receiver.close()`.',
  ],
  internal: ['The receiver met an error of its own.', 'Please report it, with `cause`.'],
} as const satisfies Texts

/** A handler failed. Passed to `onError` as a `HandlerError`. */
export const OF_HANDLERS = {
  handler_failed: [
    'A handler threw; the event is tried again while `retry.attempts` lasts.',
    'Mend what it threw: `cause`, with which the line in the log ends.',
  ],
  handler_timeout: [
    'A handler ran past `handlerTimeoutMs`; its signal was aborted, and its message waits until it ends.',
    'Pass `context.signal` on to whatever the handler waits for.',
  ],
  handler_cut_off: [
    'A handler still ran when `close()` reached its deadline; its signal was aborted, and the event runs again.',
    'Give `close()` more time (`deadlineMs`), or pass `context.signal` on to whatever the handler waits for.',
  ],
  dead_letter: [
    'An event failed in every attempt and is now a dead letter.',
    'Mend the handler, then `receiver.deadLetters.replay(id)`.',
  ],
  transaction_failed: [
    'What handlers wrote through `context.transaction` could not be committed and was undone; the event is tried again.',
    '`cause` is what the database said. Throw what a failed statement throws: a transaction does not survive it.',
  ],
  lease_lost: [
    'The lease of an event ran out or was lost while its handlers ran, so that another holder may have it.',
    'It runs again, so handlers must bear a repetition; look for what stops the process or blocks its event loop.',
  ],
} as const satisfies Texts

/** Reported only: the callback was accepted. */
export const REPORTED = {
  signature_ignored: [
    'A callback was taken by its authKey, though its signature did not hold.',
    'Compare the signing secret; with `proof: "signature"` or `"both"` it would have been refused.',
  ],
  read_report_failed: [
    '`readReport` threw, or returned what is no report; the callback was read without it.',
    'Return `{ messageId, status }`, or undefined for what is no report; `cause` says what it did.',
  ],
  dedupe_key_failed: [
    '`dedupeKey` threw or returned no string; the default identity was used.',
    'Return a string, or undefined to keep the default; `cause` is what it threw.',
  ],
  trace_context_failed: [
    '`traceContext` threw, or returned what is no trace context; nothing of it is kept that is not valid. It is said once.',
    'Return `{ traceparent, tracestate }` as W3C Trace Context writes them, or undefined; `cause` is what it threw.',
  ],
  clock_failed: [
    'The `clock` threw or told no time; this machine’s own is used where it does. It is said once.',
    'Return milliseconds since 1970, as a number; `cause` is what it threw.',
  ],
  store_outage: [
    'The store is away; callbacks are kept in the spool until it is back.',
    'Look at the store: `cause` says what failed. When it is back, the log says so (`store_back`).',
  ],
  events_lost: [
    'The receiver was closed before all events were settled, and its store keeps nothing.',
    'Give `close()` more time (`deadlineMs`), or use a store that outlives the process.',
  ],
  event_refused: [
    'The store refuses an event in every form; it is set aside in the spool and tried again at the next start.',
    'Please report it, with `cause`.',
  ],
  event_damaged: [
    'What the store holds of an event cannot be read; it was set aside as a dead letter, and everything else goes on.',
    'Look at what else writes to the store, and at its disk; `receiver.deadLetters.list()` shows what is left of it.',
  ],
  state_damaged: [
    'What the store holds of a message’s state cannot be read; it was made anew, as far as its events tell.',
    'Look at what else writes to the store, and at its disk.',
  ],
  store_evicts: [
    'The Redis server may throw away events that it has taken, or nobody can say.',
    'Set `maxmemory-policy noeviction`: then a full server refuses new events and loses none.',
  ],
  store_emptied: [
    'The Redis server was emptied while the store was open: every event in it that was not yet handled is lost.',
    'Find what ran `FLUSHALL` or `FLUSHDB`, or restarted Redis without its data; restart this process to end the reason in `health()`.',
  ],
  store_deaf: [
    'The store is not told of new work by the other processes, and looks for it every second instead.',
    'Look at the connection that listens; through PgBouncer it needs an address of its own (`listenConnectionString`).',
  ],
} as const satisfies Texts

/** Errors of the quarantine. Passed to `onError`. */
export const OF_QUARANTINE = {
  clock_wrong: [
    'Several callbacks in a row are rightly signed and off by the same time, so most likely this clock is wrong.',
    'Set it right (NTP), then call `receiver.quarantine.reverify({ clockOffsetSeconds })`.',
  ],
  quarantine_full: [
    'The quarantine is full: requests that look like callbacks are refused and no longer kept. It is said once.',
    'Mend what they are refused for and call `receiver.quarantine.reverify()`; raise `quarantine.maxBytes` if they are real.',
  ],
  quarantine_unwritten: [
    'The file of the quarantine cannot be written or read: requests are kept in memory, until the process ends.',
    'Look at the disk, or name another folder with `quarantine.folder`; `cause` says what failed. It is tried again.',
  ],
  quarantine_damaged: [
    'A part of what an earlier process had in quarantine could not be read and was skipped; the rest was kept.',
    'Look at the disk: refused requests may be lost.',
  ],
} as const satisfies Texts

/** A send by the client failed. Thrown as a `SendError`. */
export const OF_SENDING = {
  unauthenticated: [
    'The service saw no API key with the send; nothing was sent.',
    'Check `apiKey`, and that no proxy takes `Authorization` off.',
  ],
  project_not_found: [
    'The service has no project of that name; nothing was sent.',
    'Compare `project` with its display name, case and white space included.',
  ],
  unknown_project: [
    'The API key is not that of the project, or the request names no project that the service can find; nothing was sent.',
    'Compare `project` with its display name, and the key: a regenerated one kills the old one at once, and `apiKey` may be a function that reads the live one.',
  ],
  insufficient_balance: ['The project has too few credits; nothing was sent.', 'Top up, and send again.'],
  volume_limit: ['The project’s volume limit is reached; nothing was sent.', 'Wait, or have the limit raised.'],
  unsupported_number: ['The service does not reach the number; nothing was sent.', 'Ask for another number.'],
  invalid: ['The service does not take fields of the send.', '`errors` has what it says of each.'],
  refused: ['The service refused the send.', '`said` has its own words, which no log prints.'],
  unreadable: [
    'The answer to a send cannot be read.',
    'Check `baseUrl`, and what stands in front of the service; `mayBeSent` says whether it may have been sent.',
  ],
  not_sent: ['The send did not reach the service; nothing was sent.', 'Send it again; `reason` says what failed.'],
  unknown_outcome: [
    'The send may have reached the service, and no whole answer came.',
    'The service shows no query for what became of it: send again where twice is better than not at all, else do not.',
  ],
  aborted: ['The send was aborted by its signal.', '`mayBeSent` says whether it was under way.'],
  unrecorded: [
    'The send was made and answered, and the receiver’s store could not be told of it.',
    'Do not send it again: `answer` has the answer, for `receiver.expect(error.answer)` when the store is back.',
  ],
} as const satisfies Texts

/** All errors. */
export const ERRORS = {
  ...THROWN,
  ...REFUSED,
  ...UNAVAILABLE,
  ...OF_HANDLERS,
  ...REPORTED,
  ...OF_QUARANTINE,
  ...OF_SENDING,
} as const

/** The stable name of an error, explained in the reference. */
export type ErrorCode = keyof typeof ERRORS

/** Why a request was refused: the `code` of a `RefusedError`. */
export type RefusalCode = keyof typeof REFUSED | keyof typeof UNAVAILABLE

/** Why a handler did not succeed: the `code` of a `HandlerError`. */
export type HandlerErrorCode = keyof typeof OF_HANDLERS

/** Why a send failed: the `code` of a `SendError`. */
export type SendErrorCode = keyof typeof OF_SENDING
