/**
 * What a receiver has counted since it was created. It is on every callback's way, so each count is a plain increment; the
 * body is read again for a premium callback alone, since nothing else tells its type.
 */
import { typeOf, type ReviveOptions } from './dispatch/revive.ts'
import { REFUSED, UNAVAILABLE, type RefusalCode } from './error-table.ts'
import { CALLBACK_KINDS, CARRIERS, EVENT_TYPES, type CallbackKind, type EventType } from './events.ts'
import type { Admission, NewEvent } from './inbox/store.ts'

/** Of this process, since the receiver was created. */
export interface Counts {
  /** Callbacks that were answered 204, the duplicates among them included. */
  readonly taken: number
  /** The events among them, duplicates left out, by the type that handlers get them as, before a schema is asked. */
  readonly byType: Readonly<Record<EventType, number>>
  readonly duplicates: number
  readonly late: number
  /** Requests that were answered with anything else, but for 405. */
  readonly refused: number
}

/** What was mounted without a kind has `any`. */
export const COUNTED_KINDS = [...CALLBACK_KINDS, 'any'] as const
/** Only reports by SMS have a carrier. */
export const COUNTED_CARRIERS = [...CARRIERS, 'none'] as const

/** What became of the callbacks of one kind. */
export interface KindCounts {
  /** Some were mounted, or came. */
  isUsed: boolean
  new: number
  duplicate: number
  late: number
  readonly refused: Record<RefusalCode, number>
}

/** As `Counts`, told apart by all that a metric has a label for. */
export interface DetailedCounts {
  readonly kinds: Readonly<Record<(typeof COUNTED_KINDS)[number], KindCounts>>
  readonly events: Readonly<Record<EventType, Record<(typeof COUNTED_CARRIERS)[number], number>>>
}

interface Counter {
  /** Callbacks of this kind may come. */
  mounted(kind: CallbackKind | undefined): void
  taken(event: NewEvent, admission: Admission): void
  refused(kind: CallbackKind | undefined, code: RefusalCode): void
  /** As they are now. */
  all(): Counts
  /** They go on counting. */
  readonly details: DetailedCounts
}

export function createCounter(reviving: ReviveOptions): Counter {
  const kinds = recordOf(COUNTED_KINDS, () => ({
    isUsed: false,
    new: 0,
    duplicate: 0,
    late: 0,
    refused: zeros([...keysOf(REFUSED), ...keysOf(UNAVAILABLE)]),
  }))
  const events = recordOf(EVENT_TYPES, () => zeros(COUNTED_CARRIERS))

  return {
    details: { kinds, events },
    mounted(kind) {
      kinds[kind ?? 'any'].isUsed = true
    },
    taken({ id, record, raw }, admission) {
      const ofKind = kinds[record.kind ?? 'any']
      ofKind.isUsed = true
      if (admission === 'duplicate') {
        ofKind.duplicate += 1
        return
      }
      const isLate = admission === 'late'
      if (isLate) ofKind.late += 1
      else ofKind.new += 1
      events[typeOf({ id, late: isLate, record, raw }, reviving)][record.report?.carrier ?? 'none'] += 1
    },
    refused(kind, code) {
      const ofKind = kinds[kind ?? 'any']
      ofKind.isUsed = true
      ofKind.refused[code] += 1
    },
    all() {
      const all = Object.values(kinds)
      const [duplicates, late] = [sum(all.map(({ duplicate }) => duplicate)), sum(all.map((of) => of.late))]
      return {
        taken: sum(all.map((of) => of.new)) + duplicates + late,
        byType: recordOf(EVENT_TYPES, (type) => sum(Object.values(events[type]))),
        duplicates,
        late,
        refused: sum(all.flatMap(({ refused }) => Object.values(refused))),
      }
    },
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0)
}

function zeros<K extends string>(names: readonly K[]): Record<K, number> {
  return recordOf(names, () => 0)
}

function recordOf<K extends string, V>(names: readonly K[], make: (name: K) => V): Record<K, V> {
  // `fromEntries` forgets the names, which are all there are.
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, V>
}

function keysOf<K extends string>(table: Readonly<Record<K, unknown>>): K[] {
  // A table that is written out has no other keys than its own.
  return Object.keys(table) as K[]
}
