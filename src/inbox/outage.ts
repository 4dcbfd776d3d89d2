/**
 * While the store is away: events go into the spool and go from there into the store, in order, when it is back. As long as
 * the spool holds anything, nothing new overtakes it.
 *
 * Under load the spool would never be empty, so its end is a barrier: once little is left of it, what comes waits in
 * memory until the rest is in the store, and then goes there directly. Where the rest takes too long, or the store fails
 * again, what waits goes into the spool like all before it.
 */
import type { Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Absence } from './absence.ts'
import type { Spool } from './spool/spool.ts'
import type { Admission, NewEvent } from './store.ts'

export interface Outage {
  /** True while new events must go through `take`. A field, for every event looks at it. */
  readonly active: boolean
  /** Events that are on their way to the store, in the spool or waiting for its rest; none where it is not `active`. */
  readonly held: number
  /** The store has failed: from now on everything goes through the spool. It is reported once an outage. */
  begin(cause: unknown): void
  /**
   * Keeps an event in the spool, or admits it when all before it is in the store. Rejects with `spool_failed` where the
   * spool cannot keep it either.
   */
  take(event: NewEvent): Promise<Admission>
  /** What waits in memory goes into the spool, too; resolves when it is there. */
  spoolAll(): Promise<void>
  /** What still waits goes into the spool. */
  stop(): void
}

const FIRST_LOOK_MS = 250
const LONGEST_LOOK_MS = 5_000

/** So many events, a few batches, may be left in the spool when new ones begin to wait for them. */
const NEARLY_EMPTY = 512
const MOST_WAITING = 4_096
const MOST_WAITING_BYTES = 16 * 1024 * 1024

interface Waiting {
  readonly event: NewEvent
  readonly resolve: (admission: Promise<Admission>) => void
}

export function createOutage(options: {
  readonly clock: Clock
  readonly spool: Pick<Spool, 'append' | 'empty' | 'size'>
  /** How long an event may wait in memory for the rest of the spool. */
  readonly waitMs: number
  /** Puts what was spooled into the store; rejects while the store is away. */
  readonly takeFromSpool: (events: readonly NewEvent[]) => Promise<void>
  /** The usual way, for what has waited for up to `waitMs`. Comes back here where the store fails. */
  readonly admit: (event: NewEvent) => Promise<Admission>
  readonly absence: Absence
  /** Everything is in the store again. */
  readonly onOver: () => void
}): Outage {
  const { clock, spool, waitMs, takeFromSpool, admit, absence, onOver } = options
  let fromSpool = 0
  const appends = new Set<Promise<unknown>>()
  let lookMs = FIRST_LOOK_MS
  let cancelLook = (): void => {}
  let stopped = false
  /** The barrier: undefined where new events go into the spool. */
  let waiting: Waiting[] | undefined
  let waitingBytes = 0
  let cancelWait = (): void => {}

  function begin(cause: unknown): void {
    // Also where an earlier process has left something in the spool, and the store turns out to be away.
    absence.begin('spool', new MessagingWebhooksError('store_outage', undefined, { cause }))
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

  /** In their order, before anything that comes later. */
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
          // Those events are still counted.
          if (spool.size - events.length <= NEARLY_EMPTY) beginWaiting()
        })
        // With nothing in the spool the store has not been asked yet, and it may still refuse to open.
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
    absence.end('spool', fromSpool)
    fromSpool = 0
    endWaiting(admit)
    onOver()
  }

  const outage = {
    active: spool.size > 0,
    get held() {
      return spool.size + (waiting?.length ?? 0)
    },
    begin,
    take(event: NewEvent) {
      if (waiting === undefined) return append(event)
      const taken = new Promise<Admission>((resolve) => waiting?.push({ event, resolve }))
      waitingBytes += event.raw.length
      if (waiting.length >= MOST_WAITING || waitingBytes >= MOST_WAITING_BYTES) endWaiting(append)
      return taken
    },
    async spoolAll() {
      if (waiting !== undefined) endWaiting(append)
      await Promise.allSettled(appends)
    },
    stop() {
      stopped = true
      cancelLook()
      endWaiting(append)
    },
  }
  if (outage.active) look()
  return outage
}
