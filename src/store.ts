/**
 * What whoever writes a store of their own names. Types only.
 *
 * @module messaging-webhooks/store
 */
export type { EventRecord, Report } from './inbox/record.ts'
export type {
  Admission,
  AdmittedAndClaimed,
  Awaitable,
  Claim,
  ClaimRequest,
  ClaimResult,
  EventFilter,
  EventsAnswer,
  EventsPage,
  EventState,
  ForgetRequest,
  ForgetTarget,
  ForgottenCounts,
  JoinedStore,
  KeptEvent,
  NewEvent,
  OpenStore,
  Page,
  PartsHost,
  Resolution,
  SettleFailed,
  Settlement,
  Store,
  StoreCapabilities,
  StoreCounts,
  StoredDeadLetter,
  StoredEvent,
  StoredLatest,
  StoreHolder,
  StoreHost,
  StoreParts,
} from './inbox/store.ts'
