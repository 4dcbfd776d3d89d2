/**
 * For a store on your own engine: the operations to implement, and `openRecordStore`, which builds a store from them.
 *
 * @module messaging-webhooks/store
 */
export type { Expectation, KnownExpectation } from './messages/expected.ts'
export type { EventRecord, Report } from './messages/event-record.ts'
export type {
  DueRequest,
  EventPlace,
  EventScan,
  Payload,
  Scanned,
  ScannedEvent,
  ScannedRecord,
  ScanRequest,
  Versioned,
  VersionedChange,
} from './inbox/record-store.ts'
export { decodeRecord, encodeRecord } from './inbox/runtime/codec.ts'
export { unreadableRecord } from './messages/replay.ts'
export { decodePayload, encodePayload } from './inbox/runtime/open-shared-store.ts'
export { openRecordStore, type RecordStore, type RecordStoreOptions } from './inbox/runtime/open-shared-store.ts'
export { dueMark } from './messages/record.ts'
export type { MessageRecord, PayloadChange } from './messages/record.ts'
export type {
  Admission,
  AdmittedAndClaimed,
  Awaitable,
  Claim,
  ClaimRequest,
  ClaimResult,
  EndedExpectation,
  EventFilter,
  EventsAnswer,
  EventsPage,
  EventState,
  ForgetRequest,
  ForgetTarget,
  ForgottenCounts,
  KeptEvent,
  NewEvent,
  NewExpectation,
  OpenStore,
  Overdue,
  StorePage,
  Resolution,
  SentToAnswer,
  SentToPage,
  SettleFailed,
  Settlement,
  Store,
  StoreCapabilities,
  StoreCounts,
  StoredDeadLetter,
  StoredEvent,
  StoredExpectation,
  StoredLatest,
  WorkerState,
  StoreHost,
} from './inbox/store.ts'
