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
    'Events that were taken, duplicates left out, by type and by the carrier of a report by SMS.',
  ],
  messaging_webhooks_unhandled_total: ['counter', [], 'Events that no handler listened to.'],
  messaging_webhooks_attempt_duration_seconds: [
    'histogram',
    ['type', 'outcome'],
    'How long the handlers of an event ran in an attempt: succeeded, failed or timed_out.',
  ],
  messaging_webhooks_settled_seconds: [
    'histogram',
    ['outcome'],
    'From the arrival of a callback to the end of its event: done, or dead for a dead letter.',
  ],
  messaging_webhooks_store_call_duration_seconds: [
    'histogram',
    ['verb'],
    'How long the store took to answer, by the verbs on the way of an event, failures included.',
  ],
  messaging_webhooks_store_call_failures_total: ['counter', ['verb'], 'Calls of the store that failed.'],
  messaging_webhooks_store_up: ['gauge', [], '1 where the store says in time how much it holds, 0 where it does not.'],
  messaging_webhooks_unsettled: ['gauge', [], 'Events that are not settled, in the store or in the spool.'],
  messaging_webhooks_oldest_due_seconds: [
    'gauge',
    [],
    'How long the longest due event waits that no handler has, as far as the claims of this process tell.',
  ],
  messaging_webhooks_running: ['gauge', [], 'Events whose handlers run here, or that wait here for a slot.'],
  messaging_webhooks_dead_letters: ['gauge', [], 'Dead letters in the store.'],
  messaging_webhooks_holders: ['gauge', [], 'Processes that have the store open.'],
  messaging_webhooks_quarantined: ['gauge', ['class'], 'Requests without a valid proof that are kept, by class.'],
  messaging_webhooks_spool_events: ['gauge', [], 'Events that are on their way to the store by the spool.'],
  messaging_webhooks_spool_bytes: ['gauge', [], 'What the files of the spool take, but for the reserve.'],
  messaging_webhooks_clock_offset_seconds: [
    'gauge',
    [],
    'How far this clock was ahead of the signature of the last callback that had one, its way included.',
  ],
} as const satisfies Readonly<Record<string, Row>>

export type MetricName = keyof typeof METRICS
