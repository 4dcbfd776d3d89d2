/** Scans of the memory store, for observers. */
import { byNewest, isAfter, placeIn, scanned, writtenPlace } from '../pages.ts'
import { MAX_EXAMINED } from '../../inbox/lists.ts'
import type { Page } from '../../inbox/store.ts'
import type { MessageRecord } from '../../messages/record.ts'
import type { Payload } from '../../messages/views.ts'
import { endedAtMsIn } from '../codec.ts'
import type { EventScan, ScannedEvent, ScannedRecord, ScanRequest, SendScan } from '../engine.ts'
import { payloadOf, peekRecord, type Active, type MemoryTables } from './records.ts'
import { bySend } from './sends.ts'

/** A record, and a time that none of its events is later than. */
interface Candidate {
  readonly key: string
  readonly atMs: number
}

/** Events, newest first: unsettled ones by arrival, settled ones by when the last event of their message ended. */
export function scanEvents(tables: MemoryTables, { after, limit, key, isWanted }: EventScan): Page<ScannedEvent> {
  const place = placeIn(after)
  const found: ScannedEvent[] = []
  let looked = 0
  for (const candidate of key === undefined ? newestFirst(tables) : [{ key, atMs: Infinity }]) {
    const last = found[limit]
    // The remaining candidates have no newer events.
    if (last !== undefined && candidate.atMs < last.atMs) break
    if (candidate.atMs > place.atMs && key === undefined && tables.settled.has(candidate.key)) continue
    if (looked > MAX_EXAMINED) return lookedPage(found, limit, candidate.atMs)
    const events = eventsOf(tables, candidate.key).filter((one) => isAfter(place, one))
    looked += events.length
    const meant = events.filter(isWanted)
    if (meant.length === 0) continue
    found.push(...meant)
    found.sort(byNewest).splice(limit + 1)
  }
  return scanned(found, limit)
}

/** The page ends before events of this time. */
function lookedPage(found: readonly ScannedEvent[], limit: number, atMs: number): Page<ScannedEvent> {
  const page = scanned(found, limit)
  return page.next === undefined ? { ...page, next: `${atMs}.~`, lookedBackToMs: atMs } : page
}

function* newestFirst({ active, settled }: MemoryTables): Generator<Candidate> {
  const unsettled = [...active.members].map(([key, one]): Candidate => ({ key, atMs: newestIn(one) }))
  unsettled.sort((a, b) => a.atMs - b.atMs)
  for (const key of settled.keys()) {
    const atMs = endedAtMsIn(settled.peek(key) ?? '')
    for (let next = unsettled.at(-1); next !== undefined && next.atMs >= atMs; next = unsettled.at(-1)) {
      unsettled.pop()
      yield next
    }
    yield { key, atMs }
  }
  yield* unsettled.reverse()
}

function newestIn({ record, payloads }: Active): number {
  return Math.max(endedAtMs(record), ...payloads.map((payload) => payload.record.receivedAtMs))
}

function endedAtMs({ settled }: MessageRecord): number {
  return settled.at(-1)?.endedAtMs ?? 0
}

function eventsOf(tables: MemoryTables, key: string): readonly ScannedEvent[] {
  const record = peekRecord(tables, key)
  if (record === undefined) return []
  const settledAtMs = endedAtMs(record)
  return [...record.waiting, ...record.dead, ...record.settled].map(({ id }) => {
    const payload = payloadOf(tables, key, id)
    return scannedEvent(key, record, payload?.record.receivedAtMs ?? settledAtMs, id, payload)
  })
}

function scannedEvent(
  key: string,
  record: MessageRecord,
  atMs: number,
  id: string,
  payload: Payload | undefined,
): ScannedEvent {
  return { key, id, atMs, place: writtenPlace({ atMs, id }), record, payload }
}

export function scanDeadLetters(
  tables: MemoryTables,
  { after, limit, id: only }: ScanRequest & { readonly id: string | undefined },
): Page<ScannedEvent> {
  const from = after === undefined ? 0 : Number(after)
  const found: ScannedEvent[] = []
  const one = only === undefined ? undefined : tables.dead.get(only)
  const letters = only === undefined ? tables.dead : one === undefined ? [] : [[only, one] as const]
  for (const [id, { key, number }] of letters) {
    if (found.length > limit) break
    const record = number > from ? peekRecord(tables, key) : undefined
    if (record === undefined) continue
    found.push({ ...scannedEvent(key, record, 0, id, payloadOf(tables, key, id)), place: String(number) })
  }
  return scanned(found, limit)
}

export function scanSends(
  tables: MemoryTables,
  { after, limit, fromMs, toMs, newestFirst }: SendScan,
): Page<ScannedRecord> {
  const last = placeIn(after)
  const sign = newestFirst ? -1 : 1
  const following = tables.sends.between(fromMs, toMs).filter((one) => {
    // The first page follows no send, and the send at a later position may be gone.
    return last.atMs === Infinity || sign * bySend(one, { sentAtMs: last.atMs, key: last.id }) > 0
  })
  const ordered = newestFirst ? following.reverse() : following
  const found = ordered.slice(0, limit + 1).flatMap(({ key, sentAtMs }) => {
    const record = peekRecord(tables, key)
    return record === undefined ? [] : [{ key, place: writtenPlace({ atMs: sentAtMs, id: key }), record, payloads: [] }]
  })
  return scanned(found, limit)
}

/** Each step visits all keys, so this is also the most visits that a record costs. */
const MAX_STEPS = 50

function* keysOf({ active, settled, sends }: MemoryTables): Generator<string> {
  yield* active.members.keys()
  yield* settled.keys()
  for (const key of sends.byKey.keys()) if (!active.members.has(key) && !settled.has(key)) yield key
}

/** The least key of a step, as text: parsing each key would cost more than the visit. */
function boundOf(step: number, of: number): string {
  // Greater than every hexadecimal digit.
  if (step >= of) return 'g'
  return Math.ceil((step / of) * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
}

/** Keys are digests, so each step takes a range of them. Insertions and removals do not shift the other ranges. */
export function scanRecords(tables: MemoryTables, { after, limit }: ScanRequest): Page<ScannedRecord> {
  const size = tables.active.members.size + tables.settled.size + tables.sends.byKey.size
  const steps = Math.max(1, Math.min(MAX_STEPS, Math.ceil(size / limit)))
  const [, step = 0, of = steps] = /^(\d{1,9})\/(\d{1,9})$/.exec(after ?? '')?.map(Number) ?? []
  const [from, to] = [boundOf(step, of), boundOf(step + 1, of)]
  const items: ScannedRecord[] = []
  for (const key of keysOf(tables)) {
    if (key < from || key >= to) continue
    const record = peekRecord(tables, key)
    if (record === undefined) continue
    const payloads = [...record.waiting, ...record.dead].flatMap(({ id }) => payloadOf(tables, key, id) ?? [])
    items.push({ key, place: '', record, payloads })
  }
  return { items, next: step + 1 < of ? `${step + 1}/${of}` : undefined }
}
