/** The codes of log lines that report no error. The line of an error has the code of that error. */
export const LOG_CODES = {
  store_back: ['warn', 'The store is back after `unavailableMs`; `fromSpool` events left the spool.'],
  spool_emptied: ['info', '`fromSpool` events that an earlier process spooled are in the store.'],
  unrecognized_unhandled: ['warn', 'A callback could not be read, and `unrecognized` has no handler.'],
  event_unhandled: ['warn', 'An event was settled without a handler for its type. Logged once per type.'],
  no_spool: [
    'warn',
    'A durable store has no spool: while it is unavailable, callbacks are answered 503 and lost. Set `spool`.',
  ],
  secret_weak: [
    'warn',
    'A key or secret has fewer than 8 characters, or fewer than 5 different ones. It can be guessed, and logs do not mask it.',
  ],
  no_signing_secret: ['warn', 'A pair has no signing secret: only the authKey can prove a callback.'],
  memory_store: ['warn', 'Production without a `store`: unhandled events are lost when the process ends.'],
  secret_mistaken: [
    'warn',
    'A key or secret is in quotation marks, has white space or the characters `\\n` at an end, is the text `undefined`, or is both halves of a pair.',
  ],
  signature_absent: [
    'warn',
    'A callback was accepted by its authKey alone, although a signing secret is configured. Logged once.',
  ],
  keep_alive_short: [
    'warn',
    '`server.keepAliveTimeout` is 5 s or less: a callback may arrive as its connection closes.',
  ],
  server_still_open: [
    'warn',
    '`close()` was called while a server listens or has connections. Later callbacks are answered 503.',
  ],
  quarantine_reverified: [
    'warn',
    'A start has verified the quarantine again: `examined` requests, `admitted` events, and `waiting` likely callbacks that are still refused.',
  ],
  quarantine_lost: [
    'warn',
    'The quarantine is only in memory, so refused requests that look like callbacks are lost with this process.',
  ],
  inspector_audit: [
    'info',
    'A change, even a refused one, a download or an export through the inspector: `what`, `who`, `ids`, `outcome`.',
  ],
  inspector_audit_failed: ['error', '`audit` of the inspector threw (`cause`). The audited action was done anyway.'],
  inspector_authorize_failed: ['error', '`authorize` of the inspector threw (`cause`). The request was answered 500.'],
  inspector_failed: ['error', 'The store or the inspector failed (`cause`). The request was answered 503.'],
  send_retried: ['warn', 'A send of the client did not reach the service (`reason`) and is retried after `delayMs`.'],
  base_url_unusual: [
    'warn',
    'The `baseUrl` of the client does not end as the service documents; `likely` was probably meant.',
  ],
  schedule_ignored: ['warn', 'The service sent scheduled messages at once. Set the option `schedule` of the client.'],
  on_error_failed: ['error', 'A handler of `onError` threw. Its error was dropped.'],
} as const satisfies Record<string, readonly [level: 'info' | 'warn' | 'error', when: string]>
