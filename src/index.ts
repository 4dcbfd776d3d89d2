/**
 * The receiver, its events, errors and options.
 *
 * @module messaging-webhooks
 */
export { createReceiver } from './receiver/receiver.ts'
export type { CloseOnSignalOptions, EventHandler, Receiver, ReceiverStats } from './receiver/surface.ts'
export type { ReceiverOptions, OrderingOptions, QuarantineOptions, RetryOptions } from './receiver/options.ts'
export { memoryStore, type MemoryStoreOptions } from './stores/memory/store.ts'
export type {
  CredentialPair,
  CredentialsAnswer,
  CredentialsFunction,
  CredentialsOption,
  ProjectsOption,
} from './verify/credentials.ts'
export type { ProofPolicy } from './public/callback.ts'
export type { QuarantineClass } from './quarantine/request.ts'
export type {
  QuarantineListOptions,
  Quarantine,
  QuarantineCounts,
  QuarantinePage,
  QuarantinedRequest,
  ReverifyCounts,
  ReverifyOptions,
} from './quarantine/surface.ts'
export type { Clock } from './runtime/clock.ts'
export { ATTEMPT_CHANNEL, CALLBACK_CHANNEL, type AttemptMessage, type CallbackMessage } from './public/channels.ts'
export type { Logger } from './runtime/logger.ts'
export type {
  DoctorReport,
  DoctorFinding,
  DoctorFindingCode,
  DoctorFindingLevel,
} from './operations/doctor/findings.ts'
export type { DoctorOptions } from './operations/doctor/own-receiver.ts'
export type { HandlerContext } from './dispatch/handlers.ts'
export type { DeadLetter, DeadLetters, DeadLettersPage } from './dispatch/dead-letters.ts'
export type { Events, EventsListed, ListedEvent, ListEventsOptions } from './dispatch/listed-events.ts'
export type { ErrorHandler } from './runtime/reporter.ts'
export type { ReceiverHealth, HealthCode, HealthReason } from './operations/health.ts'
export type { Middleware } from './http/node.ts'
export type { CallbackAnswer } from './http/replies.ts'
export type { CallbackRequest, RequestBody, RequestHeaders } from './http/request.ts'
export type { DedupeKeyInput } from './inbox/new-event.ts'
export type { ReadUsersReport, UsersReport } from './inbox/users-reading.ts'
export type { StoreWorker } from './inbox/availability.ts'
export type { ErasureCounts } from './operations/erasure/forget.ts'
export type { AccountPeriod, Outstanding, OutstandingMessage, OutstandingPage } from './sends/account.ts'
export type { SendAccount } from './sends/balance.ts'
export type { ExpectOptions } from './sends/expectations.ts'
export type {
  EachIntention,
  ExpectCounts,
  IntendEachOptions,
  IntendOptions,
  Intention,
  RecordOptions,
  SentMessages,
  SentRecipient,
} from './public/intention.ts'
export type { ForgetOptions, ForgetSelector } from './operations/erasure/selector.ts'
export type { MessageState, ReportState } from './inbox/latest.ts'
export type { EventState } from './messages/views.ts'
export type { Page, Store } from './inbox/store.ts'
export type { TraceContext } from './public/callback.ts'
export { ERRORS, type ErrorCode, type HandlerErrorCode, type RefusalCode } from './public/error-table.ts'
export { HandlerError, MessagingWebhooksError, OptionsError, RefusedError, RetryLater } from './public/errors.ts'
export {
  type PendingSend,
  CALLBACK_KINDS,
  EVENT_TYPES,
  PROBLEMS,
  type CallbackKind,
  type Carrier,
  type ChatAppReportFields,
  type CommonFields,
  type DataEvent,
  type DeliveredEvent,
  type EventMap,
  type EventType,
  type FailedEvent,
  type DeliveryFailure,
  type FailureCause,
  type LateEvent,
  type CallbackAnomaly,
  type OverdueEvent,
  type PaymentEvent,
  type EventPattern,
  type CallbackProblem,
  type EventProof,
  type QueuedEvent,
  type ReadEvent,
  type ReceivedEvent,
  type ReportEvent,
  type ReportFields,
  type ReportType,
  type CallbackSchemas,
  type SentDetails,
  type SentEvent,
  type SmsReportFields,
  type StatusCode,
  type SubscriptionActivateEvent,
  type SubscriptionBillingEvent,
  type SubscriptionConsentEvent,
  type SubscriptionDeactivateEvent,
  type SubscriptionDeliveryEvent,
  type SubscriptionOtherEvent,
  type SubscriptionWord,
  type TimestampSource,
  type UnknownSendEvent,
  type UnrecognizedEvent,
  type WebhookEvent,
} from './public/events.ts'
export type { ChatAppReportPayload, ChatAppStatuses, ReportShape, SmsReportPayload } from './public/report-payloads.ts'
export {
  carrierAStatus,
  CARRIER_A_CODES,
  CROSS_CHANNEL_MAP,
  type CarrierAStatus,
  type CrossChannelRow,
} from './carriers/vocabularies.ts'
export { normaliseStatus, type NormalisedStatus, type StatusInput } from './carriers/report.ts'
export { STATUS_CODES, type StatusCodeRow } from './carriers/status-codes.ts'
