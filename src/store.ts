/**
 * For a store on your own database: the operations to implement, and `openRecordStore`, which builds a store from them. Also the
 * contract of stores, for a wrapper around one.
 *
 * @module messaging-webhooks/store
 */
import './runtime/supported-node.ts'
export type {
  Awaitable,
  MessageStore,
  Store,
  StoreCapabilities,
  StoreCounts,
  StoreHost,
  SettleFailed,
  WorkerState,
} from './inbox/store.ts'
export type { AnswerOf, Command } from './messages/commands.ts'
export type { EventRecord, NewEvent, Report } from './messages/event-record.ts'
export type { MessageRecord } from './messages/record.ts'
export { openRecordStore } from './stores/own/open.ts'
export type { RecordStoreOptions } from './stores/own/open.ts'
export type {
  PayloadRow,
  RecordChange,
  RecordRow,
  RecordsPage,
  RecordStore,
  StoredRecord,
  TimeLookup,
} from './stores/own/record-store.ts'
