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
    'An option or argument is invalid.',
    'The message names it and what is expected. Nothing was done.',
  ],
  node_unsupported: ['This package does not run on this version of Node.js.', 'Use Node.js 22.13 or later.'],
  peer_unsupported: [
    'This version of an optional package does not work with this package.',
    'Install a version that the message names.',
  ],
  pattern_unknown: [
    'The event type or the handler is invalid.',
    'Use an event type or a family, or `onAny` for all events.',
  ],
  project_required: [
    'The call names no project, and the receiver has several.',
    'Pass `{ project }`: a message id belongs to a project.',
  ],
  send_repeated: [
    'A send with this `reference` exists already. Nothing was sent now.',
    'Look up its outcome with `receiver.sends.account` or `send.unknown`. Use a new reference for another send.',
  ],
  wait_timed_out: [
    '`waitFor` timed out before the event arrived.',
    'Check that the callback was answered 204 and that its handlers succeeded. `onError` reports refusals and failures.',
  ],
  emulator_project_unknown: [
    'The emulator has no project with this name.',
    'Check the spelling: names are compared exactly.',
  ],
  emulator_listening: ['The emulator is already listening.', 'Close it first, or create another one.'],
  emulator_port: ['The emulator cannot listen on the port.', 'Use 0 for a free port. `cause` is the error.'],
  emulator_closed: ['The emulator is closed.', 'Create a new one.'],
} as const satisfies Texts

/** A request was refused with the status in ANSWERS. Passed to `onError`, except for 405. */
export const REFUSED = {
  signature_missing: [
    'The request has no signature header, and no authKey instead.',
    'Check who posts to this URL, and that no proxy removes `X-Service-Signature`.',
  ],
  signature_malformed: [
    'The signature header is not of the form `t=<unix seconds>,v1=<64 lowercase hex digits>`, or was sent twice.',
    'Look for a proxy that folds, repeats or rewrites headers.',
  ],
  signature_milliseconds: [
    'The `t` of the signature header has more than 12 digits.',
    'It must be in seconds; this looks like milliseconds.',
  ],
  signature_mismatch: [
    'The signature matches none of the live secrets.',
    'Compare the signing secret (rotated? trailing newline?), and mount the receiver before anything reads the body.',
  ],
  signature_stale: [
    'The `t` of the signature header differs from this clock by more than `toleranceSeconds`, so no other proof counts.',
    'Compare this machine’s clock with NTP. If it is right, the request is a replay.',
  ],
  auth_key_malformed: ['The `authKey` in the body is empty or not a string.', 'Check who posts to this URL.'],
  auth_key_mismatch: ['The `authKey` matches none of the live keys.', 'Compare the Auth Key. Was it rotated?'],
  auth_key_missing: ['The policy requires an authKey, and the body has none.', 'Check `proof` for this URL.'],
  signature_required: [
    'The authKey is valid, but the policy also requires a valid signature.',
    'Check `proof` for this URL, and that no proxy removes `X-Service-Signature`.',
  ],
  project_unknown: [
    'There are no credentials for the project in the body, or for a body without a project.',
    'Add the project. Names are compared exactly, including case and white space.',
  ],
  project_ambiguous: [
    'The body names no project, and the proof is valid for several.',
    'Give each project its own credentials.',
  ],
  project_name_too_long: [
    'The project name in the body is longer than 256 characters.',
    'Check who posts to this URL.',
  ],
  project_name_malformed: [
    'The project name in the body contains a NUL or half of a surrogate pair.',
    'Check who posts to this URL. The credentials function is not called with such a name.',
  ],
  body_already_parsed: [
    'A body parser ran before the receiver, so the signature cannot be checked against the exact bytes.',
    'Mount the receiver before the parser (in Express, before express.json()), or keep the bytes in `req.rawBody`.',
  ],
  body_already_read: [
    'The body was read before the receiver, and nothing of it is left.',
    'Mount the receiver before anything that reads the body.',
  ],
  content_encoding: [
    'The body is compressed, and no proof is valid for it.',
    'Look for a proxy that compresses requests.',
  ],
  body_too_large: ['The body is larger than `maxBodyBytes`.', 'Raise the limit if the service sends such bodies.'],
  body_too_slow: [
    'The body did not arrive within `bodyTimeoutMs`, came in thousands of tiny pieces, or stalled while others waited for capacity.',
    'Check the network and the proxies in front of this server.',
  ],
  body_incomplete: [
    'The body ended before its declared length.',
    'Check the network and the proxies in front of this server.',
  ],
  method_not_allowed: [
    'The request is not a POST.',
    'Callbacks are always POSTs: look for a redirect, method-override, or a health check on this URL.',
  ],
} as const satisfies Texts

/** A request was answered 503. Passed to `onError`. `start()` also rejects with those of a store that cannot be opened. */
export const UNAVAILABLE = {
  credentials_failed: [
    'The credentials function threw.',
    'Fix the error in `cause`. The callback is in quarantine and is verified again automatically.',
  ],
  credentials_slow: [
    'The credentials function took longer than `lookupTimeoutMs`.',
    'Cache its lookups. The callback is in quarantine and is verified again automatically.',
  ],
  credentials_invalid: [
    'The credentials function returned something other than pairs of non-empty strings.',
    'Return `{ authKey, signingSecret }`, a list of them, or undefined for an unknown project.',
  ],
  credentials_busy: [
    'Too many credentials lookups are in progress.',
    'Cache them. The callback is in quarantine and is verified again automatically.',
  ],
  store_failed: [
    'The store threw.',
    'Check the store: `cause` is its error. A callback that arrived meanwhile was not accepted.',
  ],
  store_slow: [
    'The store did not answer within `storeTimeoutMs`.',
    'Check the store. It may still complete the operation.',
  ],
  store_client_ended: [
    'The Redis client of the store has ended: the application closed it, or its strategy stopped reconnecting.',
    'Connect it again. Let `retryStrategy` or `reconnectStrategy` always return a delay, and close the client after the receiver.',
  ],
  store_full: [
    'The store has reached its limit of unsettled events.',
    'Fix handlers that fail or are too slow, or raise the limits of the store.',
  ],
  spool_failed: ['Neither the store nor the spool accepted the callback.', 'Check the disk of the spool.'],
  store_unsupported: [
    'This Node has no `node:sqlite`.',
    'Use Node 22.13 or later, built with SQLite, or another store.',
  ],
  store_foreign: [
    'The database file, schema or Redis prefix does not belong to this package. It was not changed.',
    'Give the store its own file, schema or prefix.',
  ],
  store_bundled: [
    'The bundle of the app lacks the file of the thread for SQLite files: those of the SQLite store, the spool and the quarantine.',
    'Keep `messaging-webhooks` external: `external` in esbuild, Rollup and Bun, `externals` in webpack, `serverExternalPackages` in Next.js.',
  ],
  store_path_invalid: [
    'The database file cannot be opened: its folder does not exist, or its path is a folder.',
    'Create the folder, or give the store the path of a file.',
  ],
  store_newer: [
    'A newer version of this package wrote the database file, schema or Redis prefix. It was not changed.',
    'Update this package.',
  ],
  store_locked: [
    'Another process has the database file open.',
    'Run all of them on a Node.js that can share it (22.22.3 or later, 24.15 or later), stop that process, or use another file.',
  ],
  store_unmigrated: [
    'The tables are missing or outdated, and this role may not create them.',
    'Run `npx messaging-webhooks migrate` with a role that may, as the guide to the store shows.',
  ],
  store_unusable_engine: [
    'Tables of the store are in an engine without transactions. Events would be lost or run twice.',
    'Move them to InnoDB, and check what enforces the other engine, such as `enforce_storage_engine`.',
  ],
  store_forbidden: [
    'The role lacks privileges on the schema or its tables.',
    'Have their owner grant them, as the guide to the store shows. `cause`, if there is one, says what was refused.',
  ],
  store_replaced: [
    'The database file was removed or replaced while it was open. The store opened the file that is at its path now.',
    'Stop every process before you replace the file. Events that only the old file holds are not dispatched.',
  ],
  spool_unusable: [
    'The local file of the spool and the quarantine cannot be used.',
    'The receiver does not start without it. To do without a spool, set `spool: false`.',
  ],
  spool_full: ['The spool is full.', 'Restore the store, which empties the spool, or free disk space.'],
  spool_locked: [
    'The local file of the spool was locked for more than 5 s.',
    'Look for a program that has the file open, such as a backup. A network mount that refuses locks looks the same: use a local disk.',
  ],
  spool_replaced: [
    'The local file of the spool was removed or replaced while it was open. The receiver goes on in a new file.',
    'Stop every process before you remove the file: it may hold callbacks that were answered 204.',
  ],
  spool_damaged: [
    'A part of the local file of the spool cannot be read. The rest was kept.',
    'Check the disk: a callback that was answered 204 may be lost.',
  ],
  peer_missing: ['An optional package cannot be loaded.', 'Install it. `cause` is the error.'],
  receiver_closed: [
    'The receiver is closed.',
    'Create a new one. When shutting down, call `server.close()` before `receiver.close()`.',
  ],
  internal: ['The receiver met an internal error.', 'Please report it with its `cause`.'],
} as const satisfies Texts

/** A handler failed. Passed to `onError` as a `HandlerError`. */
export const OF_HANDLERS = {
  handler_failed: ['A handler threw. The event is retried while `retry.attempts` lasts.', 'Fix the error in `cause`.'],
  handler_timeout: [
    'A handler exceeded `handlerTimeoutMs`. Its signal was aborted, and its message waits until it ends.',
    'Pass `context.signal` to everything that the handler awaits.',
  ],
  handler_cut_off: [
    'A handler still ran at the deadline of `close()`. Its signal was aborted, and the event runs again.',
    'Give `close()` more time (`deadlineMs`), or pass `context.signal` to everything that the handler awaits.',
  ],
  dead_letter: [
    'An event failed in every attempt and is now a dead letter.',
    'Fix the handler, then call `receiver.deadLetters.replay(id)`.',
  ],
  transaction_failed: [
    'The handlers’ writes through `context.transaction` could not be committed together with the settlement. The event is retried.',
    '`cause` says why. Rethrow the error of a failed statement: it aborts the transaction. Never end the transaction: use savepoints, not an ORM’s `transaction()` on this connection.',
  ],
  lease_lost: [
    'The lease of an event expired or was lost while its handlers ran, so another worker may run it.',
    'The event runs again; handlers must be idempotent. Look for what suspends the process or blocks its event loop.',
  ],
} as const satisfies Texts

/** Passed to `onError`. No request is refused because of them. */
export const REPORTED = {
  signature_ignored: [
    'A callback was accepted by its authKey, although its signature is invalid.',
    'Compare the signing secret. With `proof: "signature"` or `"both"` the callback would be refused.',
  ],
  kind_differs: [
    'A delivery report arrived at the URL of another kind. It became an `unrecognized` event. Reported once for each kind.',
    'Register the URL of `status` for delivery reports with the service. If it is, someone replays them.',
  ],
  word_guessed: [
    'The status word of a report was read without knowing its carrier. Reported once for each network.',
    'Add the network to the option `networks`. Carriers use one word for different outcomes, and an unknown word counts as a permanent failure.',
  ],
  read_report_failed: [
    '`readReport` threw, or returned something other than a report. The callback was read without it.',
    'Return `{ messageId, status }`, or undefined if it is not a report. `cause` is the error.',
  ],
  dedupe_key_failed: [
    '`dedupeKey` threw, or did not return a string. The default identity was used.',
    'Return a string, or undefined for the default. `cause` is the error.',
  ],
  trace_context_failed: [
    '`traceContext` threw, or returned an invalid trace context. Invalid parts are dropped. Reported once.',
    'Return `{ traceparent, tracestate }` in the format of W3C Trace Context, or undefined. `cause` is the error.',
  ],
  store_outage: [
    'The store is unavailable. The spool keeps callbacks until it is back.',
    'Check the store: `cause` is its error. The log says when it is back (`store_back`).',
  ],
  events_lost: [
    'The receiver was closed with unsettled events, and its store is in memory.',
    'Give `close()` more time (`deadlineMs`), or use a durable store.',
  ],
  event_refused: [
    'The store refuses an event in every form. The spool keeps it until the next start, which tries it again.',
    'Please report it with its `cause`.',
  ],
  message_crowded: [
    'A message has 1,000 events that wait to be dispatched. Another event of it is a dead letter.',
    'Look for what holds up its handlers, or what sends so many reports of one message. Then replay the dead letter.',
  ],
  event_damaged: [
    'A stored event, or the record of a message, cannot be read. It became a dead letter; other events are not affected.',
    'Check what else writes to the store, and its disk. Then discard the dead letter, or replay it once its payload can be read.',
  ],
  store_evicts: [
    'The Redis server may evict stored events, or its policy cannot be read.',
    'Set `maxmemory-policy noeviction`: a full server then refuses new events and loses none.',
  ],
  store_unflushed: [
    'The MySQL server may lose events that were answered 204 when it, or its machine, ends unexpectedly.',
    'Set `innodb_flush_log_at_trx_commit = 1`, and `sync_binlog = 1` where it has a binary log.',
  ],
  store_pool_transaction: [
    'A connection of the application’s pool came with an open or failed transaction of other code. The store closed it and used another.',
    'Find the code that releases a connection before COMMIT or ROLLBACK: its own writes are lost.',
  ],
  store_emptied: [
    'The data of the store was emptied, or replaced by an earlier state, while it was open. Events in it that were not yet handled are lost.',
    'Find what ran `TRUNCATE`, `FLUSHALL` or `FLUSHDB`, restored a backup, or restarted Redis without its data. Restart this process to clear the reason in `health()`.',
  ],
  store_polling: [
    'The store receives no notifications from other processes, and polls for new events every second instead.',
    'Check the connection that listens. Through PgBouncer it needs its own address (`listenConnectionString`).',
  ],
} as const satisfies Texts

/** Errors of the quarantine. Passed to `onError`. */
export const OF_QUARANTINE = {
  clock_wrong: [
    'Several callbacks in a row have a correct signature and the same time offset, so this clock is probably wrong.',
    'Correct it (NTP), then call `receiver.quarantine.reverify({ clockOffsetSeconds })`.',
  ],
  quarantine_full: [
    'The quarantine is full. Refused requests are no longer kept. Reported once.',
    'Fix the cause of the refusals, then call `receiver.quarantine.reverify()`. Raise `quarantine.maxBytes` if the requests are real.',
  ],
  quarantine_unwritten: [
    'The file of the quarantine cannot be written or read. Requests are kept in memory until the process ends.',
    'Check the disk, or set another `quarantine.folder`. `cause` is the error. Writing is retried.',
  ],
  quarantine_damaged: [
    'A part of an earlier process’s quarantine could not be read and was skipped. The rest was kept.',
    'Check the disk: refused requests may be lost.',
  ],
} as const satisfies Texts

/** A send by the client failed. Thrown as a `SendError`. */
export const OF_SENDING = {
  unauthenticated: [
    'The service received no API key. Nothing was sent.',
    'Check `apiKey`, and that no proxy removes `Authorization`.',
  ],
  project_not_found: [
    'The service has no project with this name. Nothing was sent.',
    'Compare `project` with its display name, including case and white space.',
  ],
  unknown_project: [
    'The API key does not belong to the project, or the service cannot find the project. Nothing was sent.',
    'Compare `project` with its display name, and check the key. A regenerated key invalidates the old one immediately: `apiKey` may be a function that reads the live key.',
  ],
  insufficient_balance: ['The project has too few credits. Nothing was sent.', 'Top up, then send again.'],
  volume_limit: ['The project has reached its volume limit. Nothing was sent.', 'Wait, or have the limit raised.'],
  unsupported_number: ['The service does not reach the number. Nothing was sent.', 'Ask for another number.'],
  invalid: ['The service rejected fields of the send.', 'Correct them: `errors` says what is wrong with each.'],
  refused: ['The service refused the send.', 'Read the reason in `said`. It is never logged.'],
  unreadable: [
    'The response to a send cannot be read.',
    'Check `baseUrl`, and any proxy in front of the service. `mayBeSent` says whether the message may have been sent.',
  ],
  not_sent: ['The send did not reach the service. Nothing was sent.', 'Send it again. `reason` is the error.'],
  unknown_outcome: [
    'The send may have reached the service, but no complete response came.',
    'The contract shows no query for its outcome. Send again only if a duplicate is better than no message.',
  ],
  aborted: ['The send was aborted by its signal.', '`mayBeSent` says whether the message may have been sent.'],
  unrecorded: [
    'The message was sent, but the receiver’s store could not record it.',
    'Do not send it again. Call `receiver.sends.expect(error.answer)` when the store is back.',
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

/** The `code` of an error. Codes are stable; the reference explains each. */
export type ErrorCode = keyof typeof ERRORS

/** Why a request was refused: the `code` of a `RefusedError`. */
export type RefusalCode = keyof typeof REFUSED | keyof typeof UNAVAILABLE

/** Why a handler did not succeed: the `code` of a `HandlerError`. */
export type HandlerErrorCode = keyof typeof OF_HANDLERS

/** Why a send failed: the `code` of a `SendError`. */
export type SendErrorCode = keyof typeof OF_SENDING
