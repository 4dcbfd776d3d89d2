/**
 * Names of spans and metrics: those of OpenTelemetry's semantic conventions for messaging, version 1.45.0, and additional ones.
 * The conventions are in development, so a later version of this package may rename them.
 */

export const ATTRIBUTES = {
  system: 'messaging.system',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  messageId: 'messaging.message.id',
  errorType: 'error.type',
  eventId: 'messaging_webhooks.event.id',
  attempt: 'messaging_webhooks.attempt',
  replay: 'messaging_webhooks.replay',
  kind: 'messaging_webhooks.callback.kind',
  outcome: 'messaging_webhooks.callback.outcome',
  quarantineClass: 'messaging_webhooks.quarantine.class',
} as const

/** The conventions list well-known systems and allow other names. */
export const SYSTEM = 'messaging_webhooks'
export const PROCESS = 'process'

type AttributeName = (typeof ATTRIBUTES)[keyof typeof ATTRIBUTES]
type Row = readonly [
  instrument: 'histogram' | 'counter' | 'gauge',
  unit: string,
  attributes: readonly AttributeName[],
  help: string,
]

const { system, operationName, destination, errorType, kind, outcome, quarantineClass } = ATTRIBUTES

/** Every metric. The instruments and the reference page derive from it. */
export const METRICS = {
  'messaging.process.duration': [
    'histogram',
    's',
    [system, operationName, destination, errorType],
    'Duration of the handlers in an attempt, until their end or timeout.',
  ],
  'messaging.client.consumed.messages': [
    'counter',
    '{message}',
    [system, operationName, destination, errorType],
    'Ended attempts.',
  ],
  'messaging_webhooks.callbacks': [
    'counter',
    '{callback}',
    [kind, outcome, errorType],
    'Callbacks by the kind of their URL and by outcome: new, duplicate, late, or refused with the code of the error.',
  ],
  'messaging_webhooks.store_up': ['gauge', '1', [], '1 if the store reports its counts in time, 0 otherwise.'],
  'messaging_webhooks.unsettled': ['gauge', '{event}', [], 'Unsettled events in the store and the spool.'],
  'messaging_webhooks.dead_letters': ['gauge', '{event}', [], 'Dead letters in the store.'],
  'messaging_webhooks.running': [
    'gauge',
    '{event}',
    [],
    'Events in flight in this process: with running handlers, or waiting for a slot.',
  ],
  'messaging_webhooks.spooled': ['gauge', '{event}', [], 'Events in the spool.'],
  'messaging_webhooks.quarantined': ['gauge', '{request}', [quarantineClass], 'Requests in quarantine, by class.'],
} as const satisfies Readonly<Record<string, Row>>

/** The arguments that create the instrument of a metric. */
export function instrument(
  name: keyof typeof METRICS,
): [name: string, options: { readonly unit: string; readonly description: string }] {
  const [, unit, , description] = METRICS[name]
  return [name, { unit, description }]
}

/** Buckets of `messaging.process.duration`, in seconds, as the conventions recommend. */
export const DURATION_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
