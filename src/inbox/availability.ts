/** Whether the store is available: outages, the totals and workers of an open store, and where a new event would be kept. */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import type { MessageStore, StoreCounts, Awaitable } from './store.ts'

/**
 * A part of the receiver that calls the store. An outage ends when every part that failed has succeeded again. `admission`
 * applies without a spool, and calls the store only when a callback arrives.
 */
type Asker = 'admission' | 'spool' | 'dispatch'

export interface StoreAvailability {
  /** Parts that failed and have not succeeded since. A field instead of a getter, because every event reads it. */
  readonly foundBy: ReadonlySet<Asker>
  /** True if a part that retries on its own has failed. Does not count `admission`: only the next callback retries that. */
  readonly isUnavailable: boolean
  /** Number of failures found. Read it before a call, for `endAnswered`. */
  readonly found: number
  /** Reports `error` for the first failure of this part. Later failures belong to the same outage until it succeeds. */
  begin(asker: Asker, error?: MessagingWebhooksError): void
  /** Records a success of this part, and `fromSpool`, the number of events moved from the spool into the store. */
  end(asker: Asker, fromSpool?: number): void
  /** Like `end`, but ignores a call that began before the latest failure. `foundBefore` is `found` when the call began. */
  endAnswered(asker: Asker, foundBefore: number): void
}

interface AvailabilityOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly report: (error: MessagingWebhooksError) => void
}

/** Reports the start and the end of each outage once. */
export function trackStoreAvailability({ clock, logger, report }: AvailabilityOptions): StoreAvailability {
  const foundBy = new Set<Asker>()
  let sinceMs = 0
  let moved = 0

  const availability = {
    foundBy,
    found: 0,
    get isUnavailable() {
      return foundBy.has('spool') || foundBy.has('dispatch')
    },
    begin(asker: Asker, error?: MessagingWebhooksError) {
      if (foundBy.has(asker)) return
      if (foundBy.size === 0) sinceMs = clock.now()
      foundBy.add(asker)
      availability.found += 1
      if (error !== undefined) report(error)
    },
    end,
    endAnswered(asker: Asker, foundBefore: number) {
      if (foundBefore === availability.found) end(asker)
    },
  }
  return availability

  function end(asker: Asker, fromSpool = 0): void {
    if (foundBy.size === 0) {
      if (fromSpool > 0)
        logger.info(
          { code: 'spool_emptied', fromSpool },
          `Moved ${count(fromSpool)} of other processes from the spool into the store.`,
        )
      return
    }
    moved += fromSpool
    if (!foundBy.delete(asker) || foundBy.size > 0) return
    const unavailableMs = clock.now() - sinceMs
    const spooled = moved === 0 ? 'No event was spooled.' : `Moved ${count(moved)} from the spool into the store.`
    logger.warn(
      { code: 'store_back', unavailableMs, fromSpool: moved },
      `The store is back after ${(unavailableMs / 1_000).toFixed(1)} s. ${spooled}`,
    )
    moved = 0
  }
}

function count(events: number): string {
  return events === 1 ? '1 event' : `${events} events`
}

/** A worker: a process that has the store open and keeps its leases by sending heartbeats. */
export interface StoreWorker {
  /** Random. A process that was declared dead continues under another id. */
  readonly id: string
  /** Host name and process id, as the process reported them. */
  readonly name: string
  readonly isSelf: boolean
  /** When it registered, by the store’s clock. Undefined if the store does not record it. */
  readonly since: Date | undefined
  /** Time since its last heartbeat, in milliseconds. */
  readonly silentMs: number
  /** Events under its leases. */
  readonly held: number
}

export interface Known extends StoreCounts {
  /** Undefined if the store does not record its workers. */
  readonly workers: readonly StoreWorker[] | undefined
}

export async function knownOf(store: MessageStore<object>): Promise<Known> {
  // A custom store may throw at once.
  const workersOf = async () => store.workers?.()
  const [counts, workers] = await Promise.all([store.counts(), workersOf()])
  const known = workers?.map(({ sinceMs, ...worker }) => {
    return { ...worker, since: sinceMs === undefined ? undefined : new Date(sinceMs) }
  })
  return { ...counts, workers: known }
}

/**
 * Where a new event would be kept. `store`; `spool`: the store is unavailable; `nowhere`: the store is unavailable and there is
 * no spool; `spool_failing`: the spool fails, and the store is unavailable or its state unknown.
 */
export type Keeping = 'store' | 'spool' | 'nowhere' | 'spool_failing'

interface OpenSpool {
  readonly relay: { readonly isUnavailable: boolean }
  readonly spool: { canTake(): Promise<boolean> }
}

interface KeepingOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly hasSpool: boolean
  readonly open: () => Promise<MessageStore<object>>
  /** Undefined before the first `open`. */
  readonly spooling: () => Promise<OpenSpool> | undefined
}

/** No message has this key. Looking it up is the cheapest call of every store. */
export const NO_MESSAGE = ''

/**
 * Whether a new event would be kept, and where. For probes, which run often and must not load the store: does not call a store
 * behind a working spool. Resolves within `storeTimeoutMs` and never rejects.
 */
export function keepingOf(options: KeepingOptions): Promise<Keeping> {
  const { clock, storeTimeoutMs, hasSpool } = options
  const failing = hasSpool ? 'spool_failing' : 'nowhere'
  return withDeadline<Keeping>(
    clock,
    storeTimeoutMs,
    look(options).catch(() => failing),
    () => failing,
  )
}

async function look({ hasSpool, open, spooling }: KeepingOptions): Promise<Keeping> {
  const opening = open()
  // Prevents an unhandled rejection if the spool answers first.
  opening.catch(() => {})
  if (hasSpool) {
    // The spool opens first, so a store that hangs while opening does not block it.
    const spooled = await spooling()
    const isUnavailable = spooled?.relay.isUnavailable !== false
    if (spooled !== undefined && (await spooled.spool.canTake().catch(() => false)))
      return isUnavailable ? 'spool' : 'store'
    if (isUnavailable) return 'spool_failing'
  }
  const asked: Awaitable<unknown> = (await opening).run([{ do: 'read', key: NO_MESSAGE }])
  await asked
  return 'store'
}
