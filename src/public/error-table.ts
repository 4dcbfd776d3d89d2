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
  peer_unsupported: ['An optional package has an unsupported version.', 'Install a version that the message names.'],
  pattern_unknown: ['The event type or the handler is invalid.', 'Use an event type, a family, or `onAny`.'],
  project_required: ['The call names no project, and the receiver has several.', 'Pass `{ project }`.'],
  expect_unsupported: [
    'The store lacks `overdue` and `scanSends`, which `expect` and `intend` need.',
    'Implement both.',
  ],
  send_repeated: [
    'A send with this `reference` exists already. Nothing was sent now.',
    'Look up its outcome with `receiver.sends.account`, or use a new reference.',
  ],
  wait_timed_out: [
    '`waitFor` timed out before the event arrived.',
    'Check that the callback was answered 204, and what `onError` reports.',
  ],
  emulator_project_unknown: ['The emulator has no project with this name.', 'Check the spelling.'],
  emulator_listening: ['The emulator is already listening.', 'Close it first.'],
  emulator_port: ['The emulator cannot listen on the port.', 'Use 0 for a free port. `cause` is the error.'],
  emulator_closed: ['The emulator is closed.', 'Create a new one.'],
} as const satisfies Texts

/** A request was refused with the status in ANSWERS. Passed to `onError`, except for 405. */
export const REFUSED = {
  signature_missing: [
    'The request has no signature header and no authKey.',
    'Check who posts to this URL, and that no proxy removes `X-Service-Signature`.',
  ],
  signature_malformed: [
    'The signature header is not of the form `t=<unix seconds>,v1=<64 lowercase hex digits>`, or was sent twice.',
    'Look for a proxy that rewrites headers.',
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
    'The `t` of the signature header differs from this clock by more than `toleranceSeconds`.',
    'Compare this clock with NTP. If it is right, the request is a replay.',
  ],
  auth_key_malformed: ['The `authKey` in the body is empty or not a string.', 'Check the sender.'],
  auth_key_mismatch: ['The `authKey` matches none of the live keys.', 'Compare the Auth Key. Was it rotated?'],
  auth_key_missing: ['The policy requires an authKey, and the body has none.', 'Check `proof` for this URL.'],
  signature_required: [
    'The policy also requires a valid signature.',
    'Check `proof` for this URL, and that no proxy removes `X-Service-Signature`.',
  ],
  project_unknown: [
    'There are no credentials for the project in the body, or for a body without a project.',
    'Add the project. Case and white space count.',
  ],
  project_ambiguous: [
    'The body names no project, and the proof is valid for several.',
    'Give each project its own credentials.',
  ],
  project_name_too_long: ['The project name is longer than 256 characters.', 'Check the sender.'],
  project_name_malformed: ['The project name contains a NUL or half of a surrogate pair.', 'Check the sender.'],
  body_already_parsed: [
    'A body parser ran before the receiver.',
    'Mount the receiver before it (in Express, before express.json()), or keep the bytes in `req.rawBody`.',
  ],
  body_already_read: [
    'The body was read before the receiver.',
    'Mount the receiver before anything that reads the body.',
  ],
  content_encoding: ['The body is compressed, and no proof is valid for it.', 'Look for a proxy that compresses.'],
  body_too_large: ['The body is larger than `maxBodyBytes`.', 'Raise the limit if the service sends such bodies.'],
  body_too_slow: [
    'The body took longer than `bodyTimeoutMs`, came in thousands of tiny pieces, or stalled.',
    'Check the network and the proxies.',
  ],
  body_incomplete: ['The body ended before its declared length.', 'Check the network and the proxies.'],
  method_not_allowed: [
    'The request is not a POST.',
    'Look for a redirect, method-override, or a health check on this URL.',
  ],
} as const satisfies Texts

/** A request was answered 503. Passed to `onError`. `start()` also rejects with those of a store that cannot be opened. */
export const UNAVAILABLE = {
  credentials_failed: ['The credentials function threw.', 'Fix the error in `cause`. The callback is in quarantine.'],
  credentials_slow: [
    'The credentials function took longer than `lookupTimeoutMs`.',
    'Cache its lookups. The callback is in quarantine.',
  ],
  credentials_invalid: [
    'The credentials function did not return pairs of non-empty strings.',
    'Return `{ authKey, signingSecret }`, a list of them, or undefined.',
  ],
  credentials_busy: ['Too many credentials lookups are in progress.', 'Cache them. The callback is in quarantine.'],
  store_failed: ['The store threw.', 'Check the store: `cause` is its error.'],
  store_slow: [
    'The store did not answer within `storeTimeoutMs`.',
    'Check the store. It may still complete the operation.',
  ],
  store_client_ended: [
    'The Redis client of the store was closed, or stopped reconnecting.',
    'Close it after the receiver. Let `retryStrategy` or `reconnectStrategy` always return a delay.',
  ],
  store_full: [
    'The store has reached its limit of unsettled events.',
    'Fix slow or failing handlers, or raise the limit.',
  ],
  spool_failed: ['Neither the store nor the spool accepted the callback.', 'Check the disk of the spool.'],
  store_unsupported: [
    'This Node has no `node:sqlite`.',
    'Use Node 22.13 or later, built with SQLite, or another store.',
  ],
  store_foreign: [
    'The database file, schema or Redis prefix does not belong to this package.',
    'Give the store its own.',
  ],
  store_bundled: [
    'The bundle of the app lacks the file of the thread for SQLite files.',
    'Keep `messaging-webhooks` external: `external` in esbuild, Rollup and Bun, `externals` in webpack, `serverExternalPackages` in Next.js.',
  ],
  store_path_invalid: [
    'The folder of the database file does not exist, or its path is a folder.',
    'Correct the path, or create the folder.',
  ],
  store_newer: [
    'A newer version of this package wrote the database file, schema or Redis prefix.',
    'Update this package.',
  ],
  store_locked: [
    'Another process has the database file open.',
    'Stop it, use another file, or run all on a Node.js that can share it (22.22.3 or later, 24.15 or later).',
  ],
  store_unmigrated: [
    'The tables are missing or outdated, and this role may not create them.',
    'Run `npx messaging-webhooks migrate` with another role.',
  ],
  store_unusable_engine: [
    'Tables of the store are in an engine without transactions.',
    'Move them to InnoDB, and check `enforce_storage_engine`.',
  ],
  store_forbidden: ['The role lacks privileges on the schema or its tables.', 'Have their owner grant them.'],
  store_replaced: [
    'The database file was removed or replaced while it was open.',
    'Stop every process first. Events that only the old file holds are not dispatched.',
  ],
  spool_unusable: [
    'The local file of the spool and the quarantine cannot be used.',
    'Check its folder and disk, or set `spool: false`.',
  ],
  spool_full: ['The spool is full.', 'Restore the store, which empties the spool, or free disk space.'],
  spool_locked: [
    'The local file of the spool was locked for more than 5 s.',
    'Look for a program that has it open, such as a backup, and use a local disk.',
  ],
  spool_replaced: [
    'The local file of the spool was removed or replaced while it was open.',
    'Stop every process first: the file may hold callbacks that were answered 204.',
  ],
  spool_damaged: [
    'A part of the local file of the spool cannot be read.',
    'Check the disk: an accepted callback may be lost.',
  ],
  peer_missing: ['An optional package cannot be loaded.', 'Install it.'],
  receiver_closed: [
    'The receiver is closed.',
    'Create a new one. When shutting down, call `server.close()` before `receiver.close()`.',
  ],
  internal: ['The receiver met an internal error.', 'Please report it with its `cause`.'],
} as const satisfies Texts

/** A handler failed. Passed to `onError` as a `HandlerError`. */
export const OF_HANDLERS = {
  handler_failed: ['A handler threw.', 'Fix the error in `cause`. The event is retried while `retry.attempts` lasts.'],
  handler_timeout: [
    'A handler exceeded `handlerTimeoutMs`. Its message waits until it ends.',
    'Pass `context.signal` to everything that it awaits.',
  ],
  handler_cut_off: [
    'A handler still ran at the deadline of `close()`. The event runs again.',
    'Give `close()` more time (`deadlineMs`), or pass `context.signal` on.',
  ],
  dead_letter: [
    'An event failed in every attempt and is now a dead letter.',
    'Fix the handler, then call `receiver.deadLetters.replay(id)`.',
  ],
  transaction_failed: [
    'The writes through `context.transaction` could not be committed. The event is retried.',
    'Rethrow the error of a failed statement. Never end the transaction: use savepoints, not an ORM’s `transaction()`.',
  ],
  lease_lost: [
    'The lease of an event was lost while its handlers ran. The event runs again.',
    'Make handlers idempotent. Look for what suspends the process or blocks its event loop.',
  ],
} as const satisfies Texts

/** Passed to `onError`. No request is refused because of them. */
export const REPORTED = {
  signature_ignored: [
    'A callback was accepted by its authKey, although its signature is invalid.',
    'Compare the signing secret.',
  ],
  kind_differs: [
    'A delivery report arrived at the URL of another kind, and became `unrecognized`.',
    'Register the URL of `status` for delivery reports. If it is, someone replays them.',
  ],
  word_guessed: [
    'The status word of a report was read without knowing its carrier.',
    'Add the network to `networks`: carriers use one word for different outcomes.',
  ],
  read_report_failed: [
    '`readReport` threw, or returned something other than a report. It was ignored.',
    'Return `{ messageId, status }`, or undefined.',
  ],
  dedupe_key_failed: [
    '`dedupeKey` threw, or did not return a string. It was ignored.',
    'Return a string, or undefined for the default.',
  ],
  trace_context_failed: [
    '`traceContext` threw, or returned an invalid trace context.',
    'Return `{ traceparent, tracestate }`, or undefined.',
  ],
  store_outage: [
    'The store is unavailable. The spool keeps callbacks until it is back.',
    'Check the store: `cause` is its error.',
  ],
  events_lost: [
    'The receiver was closed with unsettled events in memory.',
    'Give `close()` more time (`deadlineMs`), or use a durable store.',
  ],
  event_refused: [
    'The store refuses an event in every form. The next start tries again.',
    'Please report it with its `cause`.',
  ],
  message_crowded: [
    '1,000 events of a message wait to be dispatched. Another one is a dead letter.',
    'Look for what holds up its handlers or sends so many, then replay it.',
  ],
  event_damaged: [
    'A stored event or record cannot be read, and became a dead letter.',
    'Check what else writes to the store, and its disk. Then discard or replay it.',
  ],
  store_evicts: [
    'The Redis server may evict stored events, or its policy cannot be read.',
    'Set `maxmemory-policy noeviction`.',
  ],
  store_unflushed: [
    'The MySQL server may lose accepted events in a crash.',
    'Set `innodb_flush_log_at_trx_commit = 1`, and `sync_binlog = 1` where it has a binary log.',
  ],
  store_pool_transaction: [
    'A connection of your pool came with an open transaction. The store used another.',
    'Find the code that releases a connection before COMMIT or ROLLBACK: its writes are lost.',
  ],
  store_emptied: [
    'The data of the store was emptied or replaced while it was open. Unhandled events are lost.',
    'Find what emptied it, restored a backup, or restarted Redis without its data. Restart this process to clear the reason in `health()`.',
  ],
  store_polling: [
    'The store receives no notifications, and polls every second instead.',
    'Check the connection that listens. Through PgBouncer it needs `listenConnectionString`.',
  ],
} as const satisfies Texts

/** Errors of the quarantine. Passed to `onError`. */
export const OF_QUARANTINE = {
  clock_wrong: [
    'Several callbacks have a correct signature and the same time offset: this clock is probably wrong.',
    'Correct it (NTP), then call `receiver.quarantine.reverify({ clockOffsetSeconds })`.',
  ],
  quarantine_full: [
    'The quarantine is full. Refused requests are no longer kept.',
    'Fix the cause, then call `receiver.quarantine.reverify()`, or raise `quarantine.maxBytes`.',
  ],
  quarantine_unwritten: [
    'The file of the quarantine cannot be used. Requests are kept in memory.',
    'Check the disk, or set another `quarantine.folder`.',
  ],
  quarantine_damaged: [
    'A part of an earlier process’s quarantine could not be read.',
    'Check the disk: refused requests may be lost.',
  ],
} as const satisfies Texts

/** A send by the client failed. Thrown as a `SendError`. */
export const OF_SENDING = {
  unauthenticated: ['The service received no API key.', 'Check `apiKey`, and that no proxy removes `Authorization`.'],
  project_not_found: [
    'The service has no project with this name.',
    'Compare `project` with its display name. Case and white space count.',
  ],
  unknown_project: [
    'The API key does not belong to the project, or the service does not know it.',
    'Compare `project` and the key: a regenerated key invalidates the old one at once.',
  ],
  insufficient_balance: ['The project has too few credits.', 'Top up, then send again.'],
  volume_limit: ['The project has reached its volume limit.', 'Wait, or have the limit raised.'],
  unsupported_number: ['The service does not reach the number.', 'Ask for another number.'],
  invalid: ['The service rejected fields of the send.', 'Correct them: `errors` says what is wrong with each.'],
  refused: ['The service refused the send.', 'Read the reason in `said`. It is never logged.'],
  unreadable: ['The response to a send cannot be read.', 'Check `baseUrl`, and any proxy before the service.'],
  not_sent: ['The send did not reach the service.', 'Send it again. `reason` is the error.'],
  unknown_outcome: [
    'The send may have reached the service, but no complete response came.',
    'Send again only if a duplicate is better than no message.',
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
