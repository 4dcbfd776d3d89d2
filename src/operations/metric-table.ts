/** Every metric: its type, labels and help. The exposition and the reference page derive from it. */

type Row = readonly [type: 'counter' | 'gauge' | 'histogram', labels: readonly string[], help: string]

export const METRICS = {
  messaging_webhooks_callbacks_total: [
    'counter',
    ['kind', 'outcome', 'code'],
    'Callbacks by the kind of their URL and by outcome: new, duplicate, late, or refused with the code of the error.',
  ],
  messaging_webhooks_events_total: [
    'counter',
    ['type', 'carrier'],
    'Accepted events without duplicates, by type and by the carrier of an SMS report.',
  ],
  messaging_webhooks_unhandled_total: ['counter', [], 'Events without a handler.'],
  messaging_webhooks_attempt_duration_seconds: [
    'histogram',
    ['type', 'outcome'],
    'Duration of the handlers in an attempt: succeeded, failed or timed_out.',
  ],
  messaging_webhooks_settled_seconds: [
    'histogram',
    ['outcome'],
    'Time from the arrival of a callback to the end of its event: done, or dead for a dead letter.',
  ],
  messaging_webhooks_store_call_duration_seconds: [
    'histogram',
    ['verb'],
    'Duration of calls of the store by operation, including failed ones.',
  ],
  messaging_webhooks_store_call_failures_total: ['counter', ['verb'], 'Failed calls of the store.'],
  messaging_webhooks_store_up: ['gauge', [], '1 if the store reports its counts in time, 0 otherwise.'],
  messaging_webhooks_unsettled: ['gauge', [], 'Unsettled events in the store and the spool.'],
  messaging_webhooks_oldest_due_seconds: [
    'gauge',
    [],
    'How long the oldest due event that no process has leased has waited, according to the claims of this process.',
  ],
  messaging_webhooks_running: [
    'gauge',
    [],
    'Events in flight in this process: with running handlers, or waiting for a slot.',
  ],
  messaging_webhooks_dead_letters: ['gauge', [], 'Dead letters in the store.'],
  messaging_webhooks_holders: ['gauge', [], 'Processes that have the store open.'],
  messaging_webhooks_quarantined: ['gauge', ['class'], 'Requests in quarantine, by class.'],
  messaging_webhooks_spool_events: ['gauge', [], 'Events in the spool.'],
  messaging_webhooks_spool_bytes: ['gauge', [], 'Size of the files of the spool, without the reserve.'],
  messaging_webhooks_clock_offset_seconds: [
    'gauge',
    [],
    'How far this clock was ahead of the signature of the last signed callback, including its time in transit.',
  ],
} as const satisfies Readonly<Record<string, Row>>

export type MetricName = keyof typeof METRICS
