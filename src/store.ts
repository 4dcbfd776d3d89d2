/**
 * For a store on your own engine: the operations to implement, and `openRecordStore`, which builds a store from them.
 *
 * @module messaging-webhooks/store
 */
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
export { dueMark } from './messages/record.ts'
export type { MessageRecord, PayloadChange } from './messages/record.ts'
export type { Payload } from './messages/views.ts'
export { decodeRecord, encodeRecord } from './stores/codec.ts'
export type { DueLookup, EventPlace, Versioned, VersionedChange } from './stores/engine.ts'
export { decodePayload, encodePayload, openRecordStore } from './stores/own-engine.ts'
export type { RecordStore, RecordStoreOptions } from './stores/own-engine.ts'
