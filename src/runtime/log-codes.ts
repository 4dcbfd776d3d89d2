/** The log lines that are not errors. An error's line has the code of the error. */
export const LOG_CODES = {
  store_back: [
    'warn',
    'The store was away and is back: for how long (`awayMs`), and how many events came out of the spool (`fromSpool`).',
  ],
  spool_emptied: ['info', 'What an earlier process had left in the spool is in the store (`fromSpool`).'],
  unrecognized_unhandled: [
    'warn',
    'A callback came that could not be read, and no handler listens to `unrecognized`: its `problem`, id and likely cause.',
  ],
  event_unhandled: ['warn', 'No handler listens to the type of an event. It is said once for each type.'],
  no_spool: [
    'warn',
    'The store is durable and has no spool: while it is away, callbacks are answered 503 and lost. Set `spool`.',
  ],
  secret_weak: [
    'warn',
    'A key or secret is shorter than 8 characters, or has fewer than 5 different ones. It can be guessed, and the log does not mask it.',
  ],
  memory_store: ['warn', 'In production without a `store`: what is not handled when the process ends is lost.'],
  secret_blank_ends: ['warn', 'A key or secret begins or ends with white space, perhaps the line end of its file.'],
  keep_alive_short: [
    'warn',
    '`server.keepAliveTimeout` is 5 s or less, so that a callback may be sent as its connection closes.',
  ],
  server_still_open: [
    'warn',
    '`close()` was called while a server listens, or ended while it has connections; what comes later is answered 503.',
  ],
  quarantine_lost: ['warn', 'Requests in quarantine, in memory only, that are lost with `close()`.'],
  inspector_audit: [
    'info',
    'A change through the inspector, a refused one, a download or an export: `what`, `who`, `ids`, `outcome`.',
  ],
  inspector_audit_failed: [
    'error',
    '`audit` of the inspector threw (`cause`); what it was told of is done all the same.',
  ],
  inspector_authorize_failed: ['error', '`authorize` of the inspector threw (`cause`); the request was answered 500.'],
  inspector_failed: [
    'error',
    'The store failed as the inspector asked it, or the inspector did (`cause`); the request was answered 503.',
  ],
  send_retried: [
    'warn',
    'A send of the client did not reach the service and is tried again: why (`reason`), and when (`delayMs`).',
  ],
  schedule_ignored: [
    'warn',
    'The service accepted messages of the client that were for a future time as if for now (`recipients`): see its option `schedule`.',
  ],
  on_error_failed: ['error', 'A handler of `onError` threw; what it threw was dropped.'],
} as const satisfies Record<string, readonly [level: 'info' | 'warn' | 'error', when: string]>
