/**
 * Events on their way to the store, in a table of the local file that all processes of the machine share: those that the store
 * could not accept, and later events of the same messages. Another process notices an event here within `LOOK_EVERY_MS` of
 * `local-file/serve.ts`.
 */
import { randomUUID } from 'node:crypto'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { LocalFile } from '../local-file/local-file.ts'
import type { FileChange } from '../local-file/serve.ts'
import { SLOTS, type PackedEvents, type SpooledRow, type SpoolState } from '../local-file/spool-table.ts'
import { isEventRecord, type NewEvent } from '../messages/event-record.ts'
import { hasFields, isCount, isFlag, isText, orNone } from '../messages/fields.ts'
import type { Clock } from '../runtime/clock.ts'
import { parsedJson } from '../runtime/values.ts'

export type Spool = Awaited<ReturnType<typeof openSpool>>

/** An event of the table, or what remains of an erased one. */
export interface Spooled {
  /** Its row. */
  readonly row: number
  readonly event: NewEvent | Erased
  /** Why the store refuses the event. */
  readonly error: string | undefined
}

/** Enough to recognise a duplicate. */
export interface Erased extends Pick<NewEvent, 'id' | 'messageKey'> {
  readonly raw?: undefined
}

export function isErased(event: NewEvent | Erased): event is Erased {
  return event.raw === undefined
}

const BATCH = { limit: 512, maxBytes: 1024 * 1024 }
/** Larger than most events. A spool with less than this left below its limit counts as full. */
const ROOM_BYTES = 1024 * 1024

interface SpoolOptions {
  readonly clock: Clock
  readonly file: LocalFile
  /** How long a batch may take on its way to the store. */
  readonly leaseMs: number
  readonly report: (error: MessagingWebhooksError) => void
  /** Called when events wait that this process has not spooled. */
  readonly onFound: () => void
}

/**
 * Opens the file, and has events wait again that the store refused before. Rejects if the file cannot be used. Another failure,
 * such as a full disk, is only reported: the store may accept all events.
 */
export async function openSpool({ clock, file, leaseMs, report, onFound }: SpoolOptions) {
  /** Names this process as the one that moves events. */
  const holder = randomUUID()
  let state: SpoolState = { first: undefined, last: 0, waiting: 0, refused: 0, bytes: 0 }
  /** For each slot the row of its last event. */
  let slots: Float64Array | undefined
  /** Appends that are not answered yet, by slot. */
  const appending = new Map<number, number>()
  /** The last append failed, and the next may fail as well. */
  let hasFailed = false

  function see(next: SpoolState): void {
    state = next
    spool.isActive = next.waiting > 0 || appending.size > 0
  }

  function count(slot: number, by: 1 | -1): void {
    const left = (appending.get(slot) ?? 0) + by
    if (left === 0) appending.delete(slot)
    else appending.set(slot, left)
    spool.isActive = state.waiting > 0 || appending.size > 0
  }

  const commit = inGroups(async (events: readonly NewEvent[]) => {
    const packed = packEvents(events)
    const answer = await file.call('append', packed)
    slots ??= new Float64Array(SLOTS)
    for (const [index, [slot]] of packed.lists.entries()) slots[slot] = answer.from + index
    see(answer.state)
  })

  const spool = {
    /** Whether an event is on its way to the store. A field instead of a getter, because every event reads it. */
    isActive: false,
    /** Whether new events of this message go here, to stay behind earlier ones. May be true without one. */
    holds(messageKey: string): boolean {
      const slot = slotOf(messageKey)
      return appending.has(slot) || (slots?.[slot] ?? 0) >= spool.first
    },
    /** The first row that waits. Infinity without one. */
    get first(): number {
      return state.first ?? Infinity
    },
    /** The last row, removed or not. */
    get last(): number {
      return state.last
    },
    /** Number of events on their way to the store, of all processes. */
    get waiting(): number {
      let own = 0
      for (const appends of appending.values()) own += appends
      return state.waiting + own
    },
    /** Number of events that the store refuses. */
    get refused(): number {
      return state.refused
    },
    /** Size of the file. */
    get bytes(): number {
      return state.bytes
    },
    /** Resolves when the event is on the disk. Events that arrive during a write share the next one. */
    async append(event: NewEvent): Promise<void> {
      const slot = slotOf(event.messageKey)
      count(slot, 1)
      try {
        await commit(event)
        hasFailed = false
      } catch (error) {
        hasFailed = true
        throw error
      } finally {
        count(slot, -1)
      }
    },
    /** Whether it would keep another event, as far as can be told. */
    async canTake(): Promise<boolean> {
      if (state.bytes + Math.min(ROOM_BYTES, file.maxBytes / 2) > file.maxBytes) return false
      if (!hasFailed) return true
      await file.call('probe')
      hasFailed = false
      return true
    },
    /** The events that wait longest. Undefined while another process moves events. */
    async take(): Promise<readonly Spooled[] | undefined> {
      const request = { holder, nowMs: clock.now(), leaseMs, ...BATCH }
      const { rows, state: next } = await file.call('take', request)
      see(next)
      if (rows === undefined) return undefined
      const { events, unreadable } = eventsOf(rows)
      if (unreadable.length > 0) {
        report(new MessagingWebhooksError('spool_damaged', `${file.path}: rows ${unreadable.join(', ')}.`))
        const refusals = unreadable.map((row) => [row, 'The row cannot be read.'] as const)
        see(await file.call('refuse', refusals))
      }
      return events
    },
    /** Removes events that the store has. One that was erased meanwhile stays, to be erased there too. */
    async remove(moved: readonly Spooled[]): Promise<void> {
      const kept = moved.filter(({ event }) => !isErased(event))
      const erased = moved.filter(({ event }) => isErased(event))
      see(await file.call('remove', rowsOf(kept), rowsOf(erased)))
      if (state.waiting === 0) await file.call('shrink')
    },
    /** Sets events aside that the store refuses, until the next start of a process. */
    async refuse(refused: readonly (readonly [Spooled, string])[]): Promise<void> {
      const refusals = refused.map(([{ row }, error]) => [row, error] as const)
      see(await file.call('refuse', refusals))
    },
    /** Erases matching events, or only counts them with `dryRun`. Returns how many there were. */
    async forget(isMeant: IsMeant, dryRun: boolean): Promise<number> {
      await commit.idle()
      const found = await forgetIn(file, isMeant, dryRun)
      if (found > 0) see(await file.call('state'))
      return found
    },
    /** Ends after pending appends. Other processes move the events that are left, or the next start does. */
    async close(): Promise<void> {
      await commit.idle()
      if (state.last > 0) await file.call('release', holder).catch(() => {})
    },
  }

  const unlisten = file.onChange((change: FileChange) => {
    slots = change.slots
    see(change.state)
    if (change.state.waiting > 0) onFound()
  })
  try {
    await file.open()
    if (state.refused > 0) see(await file.call('retryRefused'))
  } catch (error) {
    const isPermanent = !(error instanceof MessagingWebhooksError) || !TRANSIENT.has(error.code)
    if (isPermanent) {
      unlisten()
      throw error
    }
    report(error)
  }
  if (spool.isActive) onFound()
  return spool
}

const TRANSIENT: ReadonlySet<string> = new Set(['spool_full', 'spool_locked', 'spool_replaced'])

type IsMeant = (event: NewEvent) => boolean

/** Erases matching events, those of all processes, or only counts them with `dryRun`. Returns how many there were. */
export async function forgetIn(file: LocalFile, isMeant: IsMeant, dryRun: boolean): Promise<number> {
  // Events that are spooled meanwhile arrived after the erasure.
  const { last } = await file.call('state')
  let found = 0
  for (let after = 0; after < last;) {
    const rows = await file.call('page', { after, ...BATCH, refused: false })
    after = rows.at(-1)?.id ?? last
    const meant = eventsOf(rows).events.filter(({ event }) => !isErased(event) && isMeant(event))
    found += meant.length
    if (meant.length > 0 && !dryRun) await file.call('erase', rowsOf(meant))
  }
  return found
}

/** The events that the store refuses, in order of arrival, at most `limit`. */
export async function refusedIn(file: LocalFile, limit: number) {
  const { events } = eventsOf(await file.call('page', { after: 0, ...BATCH, limit, refused: true }))
  return events.flatMap(({ event, error = '' }) => (isErased(event) ? [] : [{ event, error }]))
}

/** A part of the digest that keys of messages are. */
function slotOf(messageKey: string): number {
  const slot = Number.parseInt(messageKey.slice(0, 4), 16)
  return Number.isNaN(slot) ? 0 : slot % SLOTS
}

function rowsOf(spooled: readonly Spooled[]): readonly number[] {
  return spooled.map(({ row }) => row)
}

/** Combines items: those that arrive during a write form the next group. A failed write rejects its own items. */
function inGroups<T>(write: (items: readonly T[]) => Promise<void>) {
  let waiting: T[] = []
  /** The write of the waiting items. */
  let next: Promise<void> | undefined
  let last: Promise<void> = Promise.resolve()

  async function writeNext(before: Promise<void>): Promise<void> {
    await before.catch(() => {})
    const items = waiting
    waiting = []
    next = undefined
    last = write(items)
    await last
  }

  function add(item: T): Promise<void> {
    waiting.push(item)
    return (next ??= writeNext(last))
  }

  /** Resolves when everything added so far is written, or has failed. */
  async function idle(): Promise<void> {
    while (next !== undefined) await next.catch(() => {})
    await last.catch(() => {})
  }

  return Object.assign(add, { idle })
}

function packEvents(events: readonly NewEvent[]): PackedEvents {
  const bytes = new Uint8Array(events.reduce((sum, { raw }) => sum + raw.length, 0))
  let end = 0
  const lists = events.map(({ raw, ...fields }) => {
    bytes.set(raw, end)
    end += raw.length
    return [slotOf(fields.messageKey), JSON.stringify(fields), raw.length] as const
  })
  return { lists, bytes }
}

function eventsOf(rows: readonly SpooledRow[]) {
  const events: Spooled[] = []
  const unreadable: number[] = []
  for (const { id: row, fields, raw, error } of rows) {
    const parsed = parsedJson(fields)
    const event = raw === undefined ? erasedIn(parsed) : eventIn(parsed, raw)
    if (event === undefined) unreadable.push(row)
    else events.push({ row, event, error })
  }
  return { events, unreadable }
}

const REPETITIONS = { from: isText, to: isText }

const isRepetitions = (value: unknown): value is NonNullable<NewEvent['repeats']> => hasFields(value, REPETITIONS, {})

const IDENTITY = { id: isText, messageKey: isText }

const FIELDS = {
  ...IDENTITY,
  order: isText,
  final: isFlag,
  step: isCount,
  awaits: isCount,
  reorderWaitMs: isCount,
  record: isEventRecord,
}

const isFields = (value: unknown): value is Omit<NewEvent, 'raw'> =>
  hasFields(value, FIELDS, { repeats: orNone(isRepetitions) })

const isIdentity = (value: unknown): value is Erased => hasFields(value, IDENTITY, {})

function eventIn(fields: unknown, raw: Uint8Array): NewEvent | undefined {
  return isFields(fields) ? { ...fields, raw: Buffer.from(raw.buffer, raw.byteOffset, raw.length) } : undefined
}

function erasedIn(fields: unknown): Erased | undefined {
  return isIdentity(fields) ? fields : undefined
}
