/**
 * The receiver, its events, errors and options.
 *
 * @module messaging-webhooks
 */
import './runtime/supported-node.ts'
export { createReceiver } from './receiver/receiver.ts'
export type { EventHandler, Receiver, ReceiverStats } from './receiver/surface.ts'
export type { ReceiverOptions } from './receiver/options.ts'
export { memoryStore } from './stores/memory/store.ts'
export type { CredentialPair, CredentialsAnswer, CredentialsFunction } from './verify/credentials.ts'
export type { ProofPolicy } from './public/callback.ts'
export type { QuarantinedRequest } from './quarantine/surface.ts'
export type { Clock } from './runtime/clock.ts'
export { ATTEMPT_CHANNEL, CALLBACK_CHANNEL, type AttemptMessage, type CallbackMessage } from './public/channels.ts'
export type { Logger } from './runtime/logger.ts'
export type { DoctorReport, DoctorFinding, DoctorFindingCode } from './operations/doctor/findings.ts'
export type { HandlerContext } from './dispatch/handlers.ts'
export type { DeadLetter, RefusedEvent } from './dispatch/dead-letters.ts'
export type { ListedEvent } from './dispatch/listed-events.ts'
export type { ErrorHandler } from './runtime/reporter.ts'
export type { ReceiverHealth, HealthCode } from './operations/health.ts'
export type { Middleware } from './http/node.ts'
export type { CallbackAnswer } from './http/replies.ts'
export type { CallbackRequest } from './http/request.ts'
export type { DedupeKeyInput } from './inbox/new-event.ts'
export type { ReadUsersReport, UsersReport } from './inbox/users-reading.ts'
export type { ErasureCounts } from './operations/erasure/forget.ts'
export type { OutstandingMessage } from './sends/account.ts'
export type { SendAccount } from './sends/balance.ts'
export type { Intention, SentMessages } from './public/intention.ts'
export type { ForgetSelector } from './operations/erasure/selector.ts'
export type { MessageState } from './inbox/latest.ts'
export type { EventState } from './messages/views.ts'
export type { Page, Store } from './inbox/store.ts'
export { ERRORS, type ErrorCode, type HandlerErrorCode, type RefusalCode } from './public/error-table.ts'
export { HandlerError, MessagingWebhooksError, OptionsError, RefusedError, RetryLater } from './public/errors.ts'
export {
  CALLBACK_KINDS,
  EVENT_TYPES,
  PROBLEMS,
  type CallbackKind,
  type Carrier,
  type EventMap,
  type EventType,
  type FailureCause,
  type CallbackAnomaly,
  type EventPattern,
  type CallbackProblem,
  type ReportEvent,
  type CallbackSchemas,
  type SentDetails,
  type StatusCode,
  type WebhookEvent,
} from './public/events.ts'
export { carrierAStatus, CARRIER_A_CODES, CROSS_CHANNEL_MAP } from './carriers/vocabularies.ts'
export { normaliseStatus, type NormalisedStatus, type StatusInput } from './carriers/report.ts'
export { STATUS_CODES } from './carriers/status-codes.ts'
