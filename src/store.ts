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
  EventsPage,
  EventState,
  NewEvent,
  OpenStore,
  Page,
  Resolution,
  SettleFailed,
  Settlement,
  Store,
  StoreCapabilities,
  StoreCounts,
  StoredDeadLetter,
  StoredEvent,
  StoredLatest,
  StoreHost,
} from './inbox/store.ts'
