/**
 * Counts what a receiver has accepted and refused since it was created, and publishes each outcome to the diagnostics channel
 * and the inspector. Runs for every callback, so each count is a plain increment. Only a premium callback is parsed again,
 * because only its body determines its event type.
 */
import { channel } from 'node:diagnostics_channel'
import { typeOf, type ReviveOptions } from '../dispatch/revive.ts'
import { CALLBACK_CHANNEL, type CallbackMessage } from '../public/channels.ts'
import { REFUSED, UNAVAILABLE, type RefusalCode } from '../public/error-table.ts'
import { keysOf, recordOf } from '../runtime/values.ts'
import { CALLBACK_KINDS, CARRIERS, EVENT_TYPES, type CallbackKind, type EventType } from '../public/events.ts'
import type { Admission } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'

/** Counts of this process since the receiver was created. */
export interface Counts {
  /** Callbacks answered 204, including duplicates. */
  readonly accepted: number
  /** Accepted events without duplicates, by the type of the dispatched event before any schema check. */
  readonly byType: Readonly<Record<EventType, number>>
  readonly duplicates: number
  readonly late: number
  /** Requests answered with any other status, except 405. */
  readonly refused: number
}

/** A mount without a kind counts as `any`. */
export const COUNTED_KINDS = [...CALLBACK_KINDS, 'any'] as const
/** Only SMS reports have a carrier. */
export const COUNTED_CARRIERS = [...CARRIERS, 'none'] as const

export interface KindCounts {
  /** A URL of this kind is mounted, or a callback of this kind has arrived. */
  isUsed: boolean
  new: number
  duplicate: number
  late: number
  readonly refused: Record<RefusalCode, number>
}

/** `Counts`, split by every metric label. */
export interface DetailedCounts {
  readonly kinds: Readonly<Record<(typeof COUNTED_KINDS)[number], KindCounts>>
  readonly events: Readonly<Record<EventType, Record<(typeof COUNTED_CARRIERS)[number], number>>>
}

/** Called for each admitted or duplicate event. Must be quick and must not throw. */
export interface Follower {
  accepted(event: NewEvent, admission: Admission): void
}

const callbackChannel = channel(CALLBACK_CHANNEL)

/** `receiver`: the result of `createReceiver`, for the messages of a channel. */
export function createCounter(reviving: ReviveOptions, receiver: object) {
  /** Undefined while no inspector observes. */
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
    callbackChannel.publish({ receiver, ...message })
  }

  return {
    details,
    /** Marks the kind as used, so that its metrics start at zero. */
    mounted(kind: CallbackKind | undefined): void {
      kinds[kind ?? 'any'].isUsed = true
    },
    accepted(event: NewEvent, admission: Admission): void {
      const { id, record, raw } = event
      const ofKind = kinds[record.kind ?? 'any']
      const isLate = admission === 'late'
      ofKind.isUsed = true
      if (admission === 'duplicate') ofKind.duplicate += 1
      else {
        ofKind[isLate ? 'late' : 'new'] += 1
        events[typeOf({ id, late: isLate, record, raw }, reviving)][record.report?.carrier ?? 'none'] += 1
      }
      follower?.accepted(event, admission)
      if (!callbackChannel.hasSubscribers || admission === 'full') return
      const { kind, report } = record
      say({
        kind,
        outcome: admission === 'crowded' ? 'new' : admission,
        eventId: id,
        ...(report && { messageId: report.messageId }),
      })
    },
    refused(kind: CallbackKind | undefined, code: RefusalCode): void {
      const ofKind = kinds[kind ?? 'any']
      ofKind.isUsed = true
      ofKind.refused[code] += 1
      if (callbackChannel.hasSubscribers) say({ kind, outcome: 'refused', code })
    },
    /** Replaces the current follower. */
    watch(given: Follower): void {
      follower = given
    },
    /** False if another follower has replaced it. */
    unwatch(given: Follower): boolean {
      if (follower !== given) return false
      follower = undefined
      return true
    },
    all(): Counts {
      const all = Object.values(kinds)
      const [duplicates, late] = [sum(all.map(({ duplicate }) => duplicate)), sum(all.map((of) => of.late))]
      return {
        accepted: sum(all.map((of) => of.new)) + duplicates + late,
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
