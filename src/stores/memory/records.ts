/**
 * Records in memory: objects while they have waiting or dead events, otherwise text. Most records are settled; as objects they
 * would take more than twice the memory and slow down every garbage collection.
 */
import { LRUCache } from 'lru-cache'
import { churningMap, removeMember, type ChurningMap } from '../../runtime/values.ts'
import type { NewEvent } from '../../messages/event-record.ts'
import { withSend } from '../../messages/sends.ts'
import type { Payload } from '../../messages/views.ts'
import { decodeRecord, encodeRecord } from '../codec.ts'
import type { Change, DueLookup, LocalEngine } from '../engine.ts'
import { EMPTY_RECORD, type Lease, type MessageRecord } from '../../messages/record.ts'
import { popDue, pushDue, type Due } from './due-heap.ts'
import { createSends } from './sends.ts'

/** A record with a waiting or dead event. */
export interface Active {
  record: MessageRecord
  /** The payloads of its unsettled events. */
  payloads: readonly StoredPayload[]
  /** The valid entry of the record in the heap. Its other entries are void. */
  due: DueEntry | undefined
}

type StoredPayload = Pick<NewEvent, 'id' | 'record' | 'raw'> & { readonly error?: string }

interface DueEntry extends Due {
  readonly key: string
}

export type MemoryTables = ReturnType<typeof createTables>

/** `maxSettled`: maximum number of settled events. The record that settled first is evicted first. */
export function createTables(maxSettled: number, onWork: () => void) {
  /** Settled records as text, in the order in which they settled. The size of a record is its number of events. */
  const settled = new LRUCache<string, string>({
    maxSize: Math.min(Math.ceil(maxSettled), Number.MAX_SAFE_INTEGER),
  })
  const due: DueEntry[] = []
  const active: ChurningMap<string, Active> = churningMap()
  /** Leases by key, in the order of granting, which is also the order of expiry. */
  const leased: ChurningMap<string, Lease> = churningMap()
  return {
    active,
    settled,
    sends: createSends(),
    /** Keys by the id of a dead letter, oldest first. */
    dead: new Map<string, { readonly key: string; readonly number: number }>(),
    due,
    leased,
    lastNumber: 0,
    unsettled: 0,
    unsettledBytes: 0,
    /** Called when an event may be due after the end of a lease. */
    onWork,
  }
}

/** `get` would count as a use, and postpone the eviction. */
export function peekRecord(tables: MemoryTables, key: string): MessageRecord | undefined {
  const active = tables.active.members.get(key)
  return active === undefined ? joined(tables, key, tables.settled.peek(key)) : active.record
}

function joined({ sends }: MemoryTables, key: string, encoded: string | undefined): MessageRecord | undefined {
  const send = sends.byKey.size === 0 ? undefined : sends.byKey.get(key)
  const record = encoded === undefined ? undefined : decodeRecord(encoded)
  return send === undefined ? record : withSend(record ?? EMPTY_RECORD, send)
}

export function createRecords(
  tables: MemoryTables,
  bounds: Readonly<Record<'maxEvents' | 'maxBytes' | 'maxExpected', number>>,
): Pick<LocalEngine, 'read' | 'isFull' | 'write' | 'counts'> {
  const { sends, settled, dead } = tables
  const { maxEvents, maxBytes, maxExpected } = bounds

  const read = (key: string): MessageRecord | undefined => peekRecord(tables, key)

  function write(change: Change): void {
    const { key, before } = change
    const after = change.after ?? EMPTY_RECORD
    if (before?.send !== after.send) sends.set(key, after.send)
    const active = tables.active.members.get(key)
    const payloads = payloadsAfter(tables, active?.payloads ?? NO_PAYLOADS, change)
    tables.unsettled += after.waiting.length - (before?.waiting.length ?? 0)
    const isKnown = before !== undefined && before.settled.length > 0
    if (after.waiting.length > 0 || after.dead.length > 0) {
      const now = active ?? { record: after, payloads, due: undefined }
      now.record = after
      now.payloads = payloads
      schedule(tables, key, now)
      if (active === undefined) {
        tables.active.members.set(key, now)
        if (isKnown) settled.delete(key)
      }
      return
    }
    if (active !== undefined) {
      removeMember(tables.active, key)
      if (before?.lease !== undefined) removeMember(tables.leased, key)
    }
    if (after.settled.length > 0) {
      const json = encodeRecord(after)
      settled.set(key, WIDE.test(json) ? narrow(json) : json, { size: after.settled.length })
    } else if (isKnown) settled.delete(key)
  }

  return {
    read,
    isFull(what) {
      if (what === 'send') return sends.byKey.size >= maxExpected
      return tables.unsettled >= maxEvents || tables.unsettledBytes + what.bytes > maxBytes
    },
    write,
    counts: () => ({ unsettled: tables.unsettled, deadLetters: dead.size }),
  }
}

const NO_PAYLOADS: readonly StoredPayload[] = []

/** Counts unsettled bytes of waiting events only. */
function payloadsAfter(
  tables: MemoryTables,
  payloads: readonly StoredPayload[],
  { key, payloads: changes, before }: Change,
): readonly StoredPayload[] {
  let now = payloads
  for (const change of changes) {
    if (change.becomes === 'stored') {
      tables.unsettledBytes += change.event.raw.length
      now = now.length === 0 ? [change.event] : [...now, change.event]
      continue
    }
    const payload = now.find(({ id }) => id === change.id)
    if (payload === undefined) continue
    const bytes = payload.raw.length
    const wasDead = tables.dead.delete(change.id)
    if (change.becomes === 'dead') {
      tables.unsettledBytes -= bytes
      tables.dead.set(change.id, { key, number: (tables.lastNumber += 1) })
      now = now.map((one) => (one === payload ? { ...payload, error: change.error } : one))
    } else if (change.becomes === 'pending') tables.unsettledBytes += bytes
    else {
      if (!wasDead && before?.waiting.some(({ id }) => id === change.id) === true) tables.unsettledBytes -= bytes
      now = now.length === 1 ? NO_PAYLOADS : now.filter((one) => one !== payload)
    }
  }
  return now
}

/**
 * A leased record is in the heap only if its first event is due after the lease: most leases end long before they expire, and
 * would leave void entries until then.
 */
function schedule(tables: MemoryTables, key: string, active: Active): void {
  const { lease, waiting } = active.record
  const firstMs = waiting[0]?.dueMs
  const dueMs = lease === undefined || (firstMs ?? -Infinity) > lease.untilMs ? firstMs : undefined
  const leased = tables.leased.members.get(key)
  if (leased !== lease) {
    if (leased !== undefined) removeMember(tables.leased, key)
    if (lease !== undefined) tables.leased.members.set(key, lease)
    else if (waiting.length > 0) tables.onWork()
  }
  if (active.due?.dueMs === dueMs) return
  active.due = dueMs === undefined ? undefined : { dueMs, sequence: (tables.lastNumber += 1), key }
  if (active.due !== undefined) pushDue(tables.due, active.due)
}

/** The payload of an event. The payload of a dead letter includes its error. */
export function payloadOf(tables: MemoryTables, key: string, id: string): Payload | undefined {
  const found = tables.active.members.get(key)?.payloads.find((one) => one.id === id)
  return found && { id, record: found.record, raw: found.raw, error: found.error }
}

/** Keys of due records, earliest first. They stay in the heap until they are written. */
export function dueKeys(
  { due, active, leased }: MemoryTables,
  { limit, nowMs, exclude }: DueLookup,
): { readonly keys: readonly string[]; readonly nextMs: number | undefined } {
  const keys: string[] = []
  let nextMs: number | undefined
  for (const [key, { untilMs }] of leased.members) {
    if (exclude.has(key) || active.members.get(key)?.due !== undefined) continue
    nextMs = untilMs
    if (untilMs > nowMs || keys.length >= limit) break
    keys.push(key)
    nextMs = undefined
  }
  const kept: DueEntry[] = []
  for (let next = due[0]; next !== undefined; next = due[0]) {
    const isValid = active.members.get(next.key)?.due === next
    if (isValid && !exclude.has(next.key)) {
      if (next.dueMs > nowMs || keys.length >= limit) {
        nextMs = Math.min(nextMs ?? next.dueMs, next.dueMs)
        break
      }
      keys.push(next.key)
    }
    if (isValid) kept.push(next)
    popDue(due)
  }
  for (const entry of kept) pushDue(due, entry)
  return { keys, nextMs }
}

const WIDE = /[^\0-\xff]/

/** One character beyond Latin-1 makes a whole string two bytes wide, so escape such characters. */
function narrow(json: string): string {
  const escaped = json.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  // Copy the string: after the replacement it would keep its width.
  return Buffer.from(escaped, 'latin1').toString('latin1')
}
