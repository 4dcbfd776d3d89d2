/** The list of events, as far as this store keeps them: of settled ones the identity, and the reports that make the latest state. */
import type { EventRecord } from '../../inbox/record.ts'
import type { EventsAnswer, EventsPage, StoredDeadLetter, StoredEvent } from '../../inbox/store.ts'
import { isFiltered, isMeant, MOST_LOOKED_AT } from '../filters.ts'
import { lookedPageOf, newestPageOf } from '../pages.ts'
import { packedIds, settledAtMsOf, unpacked, type Known, type Message, type Pending } from './message.ts'

interface Dead extends StoredDeadLetter {
  readonly pending: Pending
}

interface Kept {
  readonly known: Iterable<readonly [key: string, value: Known]>
  readonly dead: ReadonlyMap<string, Dead>
}

/** One of which the place in the list is known; the rest is looked up for those of the page alone. */
interface Listed {
  readonly id: string
  readonly atMs: number
  readonly read: () => StoredEvent
}

export function listEvents({ known, dead }: Kept, page: EventsPage): EventsAnswer {
  const { messageKey, id } = page
  const listed: Listed[] = []
  for (const [key, value] of known)
    if (messageKey === undefined || key === messageKey) listed.push(...eventsOf(key, value, dead))
  for (const letter of dead.values())
    if (messageKey === undefined || letter.pending.event.messageKey === messageKey)
      listed.push({ id: letter.id, atMs: letter.record.receivedAtMs, read: () => deadEvent(letter) })
  const wanted = id === undefined ? listed : listed.filter((one) => one.id === id)
  if (!isFiltered(page)) return newestPageOf(wanted, page, ({ read }) => read())
  return lookedPageOf(wanted, page, {
    most: MOST_LOOKED_AT,
    read: ({ read }) => read(),
    isMeant: (event) => isMeant(page, event),
  })
}

function eventsOf(key: string, known: Known, dead: Kept['dead']): readonly Listed[] {
  const isSettled = typeof known === 'string'
  const endedAtMs = isSettled ? settledAtMsOf(known) : undefined
  const ids = isSettled ? packedIds(known) : known.settledIds
  const settled = ids
    .filter((id) => !dead.has(id))
    .map((id): Listed => {
      const atMs = endedAtMs ?? unpacked(key, known).activeSinceMs
      return { id, atMs, read: () => settledEvent(id, unpacked(key, known), atMs, endedAtMs) }
    })
  if (isSettled) return settled
  const waiting = known.pending.map((pending): Listed => {
    const { id, record } = pending.event
    return { id, atMs: record.receivedAtMs, read: () => waitingEvent(pending, known.lease) }
  })
  return [...waiting, ...settled]
}

const NOTHING_KEPT = {
  late: undefined,
  attempts: undefined,
  admittedAtMs: undefined,
  dueMs: undefined,
  endedAtMs: undefined,
  error: undefined,
  order: undefined,
  record: undefined,
  raw: undefined,
} as const

function settledEvent(id: string, { latest }: Message, atMs: number, endedAtMs: number | undefined): StoredEvent {
  // An order ends with the identity of its report.
  const own = latest && [latest, ...latest.finals].find(({ order }) => order.endsWith(id))
  const { order, record }: { readonly order?: string; readonly record?: EventRecord } = own ?? {}
  return { ...NOTHING_KEPT, id, state: 'settled', atMs, endedAtMs, order, record }
}

function waitingEvent({ event, late, attempts, dueMs, token }: Pending, lease: Message['lease']): StoredEvent {
  const { id, order, record, raw } = event
  const times =
    lease?.token === token ? ({ state: 'leased', dueMs: lease.untilMs } as const) : ({ state: 'due', dueMs } as const)
  return { ...NOTHING_KEPT, ...times, id, atMs: record.receivedAtMs, late, attempts, order, record, raw }
}

function deadEvent({ id, attempts, error, diedAtMs, record, raw, pending }: Dead): StoredEvent {
  const { late, event } = pending
  const atMs = record.receivedAtMs
  return {
    ...NOTHING_KEPT,
    id,
    state: 'dead',
    atMs,
    late,
    attempts,
    endedAtMs: diedAtMs,
    error,
    order: event.order,
    record,
    raw,
  }
}
