/**
 * What a receiver has counted since it was created, and those who follow it: the channel and the inspector. It is on every
 * callback's way, so each count is a plain increment; the body is read again for a premium callback alone, since nothing else
 * tells its type.
 */
import { channel } from 'node:diagnostics_channel'
import { typeOf, type ReviveOptions } from '../dispatch/revive.ts'
import { CALLBACK_CHANNEL, type CallbackMessage } from '../public/channels.ts'
import { REFUSED, UNAVAILABLE, type RefusalCode } from '../public/error-table.ts'
import { recordOf } from '../runtime/record-of.ts'
import { CALLBACK_KINDS, CARRIERS, EVENT_TYPES, type CallbackKind, type EventType } from '../public/events.ts'
import type { Admission, NewEvent } from '../inbox/store.ts'

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

/** Told of each event that was admitted or known already. It is quick, and never throws. */
interface Follower {
  taken(event: NewEvent, admission: Admission): void
}

interface CounterOptions {
  readonly reviving: ReviveOptions
  /** What `createReceiver` returned. */
  readonly self: () => object
  /** Told of each event with oddities. */
  readonly odd: (event: NewEvent) => void
}

const callbackChannel = channel(CALLBACK_CHANNEL)

export function createCounter({ reviving, self, odd }: CounterOptions) {
  /** Undefined as long as no inspector looks on. */
  let follower: Follower | undefined
  const kinds = recordOf(COUNTED_KINDS, () => ({
    isUsed: false,
    new: 0,
    duplicate: 0,
    late: 0,
    refused: zeros([...keysOf(REFUSED), ...keysOf(UNAVAILABLE)]),
  }))
  const events = recordOf(EVENT_TYPES, () => zeros(COUNTED_CARRIERS))
  const details: DetailedCounts = { kinds, events }

  function say(message: Omit<CallbackMessage, 'receiver'>): void {
    callbackChannel.publish({ receiver: self(), ...message })
  }

  return {
    /** They go on counting. */
    details,
    /** Callbacks of this kind may come. */
    mounted(kind: CallbackKind | undefined): void {
      kinds[kind ?? 'any'].isUsed = true
    },
    taken(event: NewEvent, admission: Admission): void {
      const { id, record, raw } = event
      const ofKind = kinds[record.kind ?? 'any']
      const isLate = admission === 'late'
      ofKind.isUsed = true
      if (admission === 'duplicate') ofKind.duplicate += 1
      else {
        ofKind[isLate ? 'late' : 'new'] += 1
        events[typeOf({ id, late: isLate, record, raw }, reviving)][record.report?.carrier ?? 'none'] += 1
      }
      follower?.taken(event, admission)
      if (record.oddities !== undefined) odd(event)
      if (!callbackChannel.hasSubscribers || admission === 'full' || admission === 'newer') return
      const { kind, report } = record
      say({ kind, outcome: admission, eventId: id, ...(report && { messageId: report.messageId }) })
    },
    refused(kind: CallbackKind | undefined, code: RefusalCode): void {
      const ofKind = kinds[kind ?? 'any']
      ofKind.isUsed = true
      ofKind.refused[code] += 1
      if (callbackChannel.hasSubscribers) say({ kind, outcome: 'refused', code })
    },
    /** One at a time follows. */
    watch(given: Follower): void {
      follower = given
    },
    /** False where another one has taken its place. */
    unwatch(given: Follower): boolean {
      if (follower !== given) return false
      follower = undefined
      return true
    },
    /** As they are now. */
    all(): Counts {
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

function keysOf<K extends string>(table: Readonly<Record<K, unknown>>): K[] {
  // A table that is written out has no other keys than its own.
  return Object.keys(table) as K[]
}
