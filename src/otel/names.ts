/**
 * What spans and metrics are called: OpenTelemetry's semantic conventions for messaging, version 1.45.0, all of them in
 * development, so that a later version of this package may rename them; and names of our own where there are none.
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

export const METRICS = {
  processDuration: 'messaging.process.duration',
  consumedMessages: 'messaging.client.consumed.messages',
  callbacks: 'messaging_webhooks.callbacks',
  storeUp: 'messaging_webhooks.store_up',
  unsettled: 'messaging_webhooks.unsettled',
  deadLetters: 'messaging_webhooks.dead_letters',
  running: 'messaging_webhooks.running',
  spooled: 'messaging_webhooks.spooled',
  quarantined: 'messaging_webhooks.quarantined',
} as const

/** The conventions name well-known systems, and let others name themselves. */
export const SYSTEM = 'messaging_webhooks'
export const PROCESS = 'process'

/** Of `messaging.process.duration`, in seconds, as the conventions ask for. */
export const DURATION_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
