/**
 * What whoever writes a store of their own names. Types only.
 *
 * @module messaging-webhooks/store
 */
export type { Expectation, KnownExpectation } from './inbox/expected.ts'
export type { EventRecord, Report } from './inbox/record.ts'
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
  Page,
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
  StoreHolder,
  StoreHost,
} from './inbox/store.ts'
