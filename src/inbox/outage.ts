/**
 * Handles an outage of the store: events go into the spool and, when the store is available again, into the store in order. No
 * new event overtakes the spool.
 *
 * Under load the spool would never become empty, so an outage ends with a barrier: once the spool is nearly empty, new events
 * wait in memory until the rest is in the store, and then go there directly. If the rest takes too long or the store fails
 * again, the waiting events go into the spool.
 */
import type { Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { StoreAvailability } from './availability.ts'
import type { Spool } from './spool/spool.ts'
import type { Admission } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'

export type Outage = Readonly<ReturnType<typeof createOutage>>

const FIRST_LOOK_MS = 250
const LONGEST_LOOK_MS = 5_000

/** New events start to wait when the spool holds at most this many events, a few batches. */
const NEARLY_EMPTY = 512
const MAX_WAITING = 4_096
const MAX_WAITING_BYTES = 16 * 1024 * 1024

interface Waiting {
  readonly event: NewEvent
  readonly resolve: (admission: Promise<Admission>) => void
}

export function createOutage(options: {
  readonly clock: Clock
  readonly spool: Pick<Spool, 'append' | 'empty' | 'size'>
  /** Maximum wait of an event in memory for the rest of the spool. */
  readonly waitMs: number
  /** Moves spooled events into the store. Rejects while the store is unavailable. */
  readonly takeFromSpool: (events: readonly NewEvent[]) => Promise<void>
  /** Admits events that have waited up to `waitMs` as usual. If the store fails, they return to this outage. */
  readonly admit: (event: NewEvent) => Promise<Admission>
  readonly availability: StoreAvailability
  /** Notifies that the store has all events again. */
  readonly onOver: () => void
}) {
  const { clock, spool, waitMs, takeFromSpool, admit, availability, onOver } = options
  let fromSpool = 0
  const appends = new Set<Promise<unknown>>()
  let lookMs = FIRST_LOOK_MS
  let cancelLook = (): void => {}
  let stopped = false
  /** The barrier. Undefined while new events go into the spool. */
  let waiting: Waiting[] | undefined
  let waitingBytes = 0
  let cancelWait = (): void => {}

  /** Sends all events through the spool, because the store has failed. Reports that once per outage. */
  function begin(cause: unknown): void {
    // Report first: `active` is also true if an earlier process left events in the spool.
    availability.begin('spool', new MessagingWebhooksError('store_outage', undefined, { cause }))
    if (outage.active) return
    outage.active = true
    lookMs = FIRST_LOOK_MS
    look()
  }

  function look(): void {
    if (stopped) return
    cancelLook = clock.setTimer(() => void emptySpool(), lookMs)
  }

  async function append(event: NewEvent): Promise<Admission> {
    const appending = spool.append([event])
    appends.add(appending)
    try {
      await appending
      return 'new'
    } catch (error) {
      throw new MessagingWebhooksError('spool_failed', undefined, { cause: error })
    } finally {
      appends.delete(appending)
    }
  }

  function beginWaiting(): void {
    if (waiting !== undefined || stopped) return
    waiting = []
    waitingBytes = 0
    cancelWait = clock.setTimer(() => endWaiting(append), waitMs)
  }

  /** Continues with the waiting events in order, before any later event. */
  function endWaiting(goOn: (event: NewEvent) => Promise<Admission>): void {
    cancelWait()
    const all = waiting ?? []
    waiting = undefined
    for (const { event, resolve } of all) resolve(goOn(event))
  }

  async function intoStore(events: readonly NewEvent[]): Promise<void> {
    try {
      await takeFromSpool(events)
    } catch (error) {
      if (!stopped) begin(error)
      throw error
    }
    fromSpool += events.length
  }

  async function emptySpool(): Promise<void> {
    try {
      let hasAnswered = false
      do {
        await spool.empty(async (events) => {
          await intoStore(events)
          hasAnswered = true
          lookMs = FIRST_LOOK_MS
          // `size` still includes this batch.
          if (spool.size - events.length <= NEARLY_EMPTY) beginWaiting()
        })
        // With an empty spool the store has not been called yet, and opening it may still fail.
        if (!hasAnswered) await intoStore([])
        hasAnswered = true
        beginWaiting()
        await Promise.allSettled(appends)
      } while (spool.size > 0 || appends.size > 0)
    } catch {
      endWaiting(append)
      lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)
      look()
      return
    }
    if (stopped) return
    outage.active = false
    availability.end('spool', fromSpool)
    fromSpool = 0
    endWaiting(admit)
    onOver()
  }

  const outage = {
    /** Whether new events must pass through `take`. A field instead of a getter, because every event reads it. */
    active: spool.size > 0,
    /** Events on their way to the store, in the spool or in memory. 0 unless `active`. */
    get held(): number {
      return spool.size + (waiting?.length ?? 0)
    },
    begin,
    /**
     * Spools an event, or admits it when all earlier ones are in the store. Rejects with `spool_failed` if the spool cannot keep
     * it either.
     */
    take(event: NewEvent): Promise<Admission> {
      if (waiting === undefined) return append(event)
      const accepted = new Promise<Admission>((resolve) => waiting?.push({ event, resolve }))
      waitingBytes += event.raw.length
      if (waiting.length >= MAX_WAITING || waitingBytes >= MAX_WAITING_BYTES) endWaiting(append)
      return accepted
    },
    /** Moves events that wait in memory into the spool, and resolves when they are there. */
    async spoolAll(): Promise<void> {
      if (waiting !== undefined) endWaiting(append)
      await Promise.allSettled(appends)
    },
    /** Moves waiting events into the spool and stops. */
    stop(): void {
      stopped = true
      cancelLook()
      endWaiting(append)
    },
  }
  if (outage.active) look()
  return outage
}
