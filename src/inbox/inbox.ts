/** Admission: every proven event passes here, once, before it is answered. */
import { withDeadline, type SteadyClock } from '../clock.ts'
import { asOurs, MessagingWebhooksError } from '../errors.ts'
import type { Absence } from './absence.ts'
import { inBatches } from './batch.ts'
import { inStoreTime, Patience } from './in-store-time.ts'
import { createOutage, type Outage } from './outage.ts'
import { admitAroundPoison } from './poison.ts'
import { createPruning } from './pruning.ts'
import type { Spool, Spools } from './spool/spool.ts'
import type { Admission, Awaitable, NewEvent, OpenStore, Store, StoreCounts } from './store.ts'

/**
 * What part of the time of its answer an event may wait for the last ones of the spool. It must be longer than a store takes
 * for two batches, slow as it may be: else they would never come to an end under load.
 */
const PART_FOR_WAITING = 1 / 2

/**
 * Admits a batch into the open store, and sees to it that somebody runs it. With `mayLease`, what can run here at once may be
 * leased in the same step, and runs after its answer. Rejects with `store_slow` where patience ends before the answer comes.
 */
export type AdmitBatch = (batch: {
  readonly store: OpenStore<object>
  readonly events: readonly NewEvent[]
  readonly nowMs: number
  readonly patience: Patience
  readonly mayLease: boolean
}) => Awaitable<readonly Admission[]>

interface InboxOptions {
  readonly clock: SteadyClock
  readonly storeTimeoutMs: number
  readonly gapTimeoutMs: number
  readonly report: (error: MessagingWebhooksError) => void
  readonly absence: Absence
  /** Something may be due: another process has admitted it, or an outage is over. */
  readonly onWork: () => void
  /** False where nothing is claimed here. */
  readonly claims: boolean
  readonly admitBatch: AdmitBatch
  /** Opens the logs for what the store cannot take; undefined for none. */
  readonly openSpools: (() => Promise<Spools>) | undefined
}

export interface Inbox<X extends object> {
  /** Opens the spool and the store, once; a failed attempt is made anew by the next caller. */
  open(): Promise<OpenStore<X>>
  /** Throws or rejects with a `MessagingWebhooksError` where neither store nor spool can take it. */
  admit(event: NewEvent): Awaitable<Admission>
  /** How many events are unsettled, in the store and on their way there. */
  unsettled(): Awaitable<number>
  /** What the store itself counts; undefined where it does not say in time, or is away. */
  known(): Promise<StoreCounts | undefined>
  /** Events that are on their way to the store: in the spool, or waiting for its rest. */
  readonly spooled: number
  close(): Promise<void>
}

export function createInbox<X extends object>(store: Store<X>, options: InboxOptions): Inbox<X> {
  const { clock, storeTimeoutMs, gapTimeoutMs, report, absence, admitBatch, onWork } = options
  const pruning = createPruning(clock)
  let opened: OpenStore<X> | undefined
  let opening: Promise<OpenStore<X>> | undefined
  let spooling: Promise<void> | undefined
  let outage: Outage | undefined
  let aside: Spool | undefined
  let closeSpools = async (): Promise<void> => {}
  let closed = false

  async function openSpools(openThem: () => Promise<Spools>): Promise<void> {
    const spools = await openThem()
    closeSpools = async () => {
      await spools.outage.close()
      await spools.aside.close()
    }
    // Once a start, by way of the other spool: what the store refuses still comes back here. Where that one is full, the rest
    // stays for the next start, and keeps nobody from what is to be taken now.
    await spools.aside
      .empty((events) => spools.outage.append(events))
      .catch((error: unknown) => report(asOurs(error, 'spool_unusable')))
    aside = spools.aside
    const waitMs = storeTimeoutMs * PART_FOR_WAITING
    outage = createOutage({
      clock,
      spool: spools.outage,
      waitMs,
      takeFromSpool,
      admit: async (event) => admit(event, storeTimeoutMs - waitMs),
      absence,
      onOver() {
        // It was found away before there was a spool.
        absence.end('admission')
        onWork()
      },
    })
  }

  async function openStore(): Promise<OpenStore<X>> {
    try {
      if (options.openSpools !== undefined) {
        spooling ??= openSpools(options.openSpools)
        await spooling.catch((error: unknown) => {
          spooling = undefined
          throw error
        })
      }
      opened = await store.open({ onWork, report, claims: options.claims })
      if (opened.latestNowMs !== undefined) clock.reach(opened.latestNowMs)
      pruning.begin(opened)
      return opened
    } catch (error) {
      outage?.begin(error)
      throw asOurs(error, 'store_failed')
    }
  }

  function open(): Promise<OpenStore<X>> {
    if (closed) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    if (opening !== undefined) return opening
    const attempt = openStore()
    opening = attempt
    // `close` waits for it, so nobody has put another in its place.
    attempt.catch(() => {
      opening = undefined
    })
    return attempt
  }

  /** A gap began when its callback arrived, by the wall's clock, which may have been far ahead just then. */
  function onSteadyClock(event: NewEvent, nowMs: number): NewEvent {
    if (event.awaits === 0) return event
    return { ...event, gapUntilMs: Math.min(event.gapUntilMs + clock.aheadMs, nowMs + gapTimeoutMs) }
  }

  /** One batch into the store, in time. */
  function write(events: readonly NewEvent[], patience: Patience, mayLease: boolean): Awaitable<readonly Admission[]> {
    if (opened === undefined) throw new MessagingWebhooksError('receiver_closed')
    if (patience.isOver) throw new MessagingWebhooksError('store_slow')
    const nowMs = clock.now()
    const haveGaps = events.some(({ awaits }) => awaits !== 0)
    const timed = haveGaps ? events.map((event) => onSteadyClock(event, nowMs)) : events
    return admitBatch({ store: opened, events: timed, nowMs, patience, mayLease })
  }

  /** The same, and nothing that waits behind a failed batch is written before it. */
  function writeInOrder(events: readonly NewEvent[], patience: Patience): Awaitable<readonly (Admission | Error)[]> {
    if (outage?.active === true) throw new MessagingWebhooksError('store_outage')
    const recover = (error: unknown): Promise<readonly (Admission | Error)[]> => {
      // Without a spool there is nobody to keep what the store may take alone.
      if (outage === undefined) return admitAroundPoison((some) => write(some, patience, false), events)
      outage.begin(error)
      throw error
    }
    try {
      const admissions = write(events, patience, true)
      return admissions instanceof Promise ? admissions.catch(recover) : admissions
    } catch (error) {
      return recover(error)
    }
  }

  /** Nobody waits for an answer, so each write has a time of its own. */
  async function writePlainly(events: readonly NewEvent[]): Promise<readonly Admission[]> {
    const patience = new Patience(clock, storeTimeoutMs)
    try {
      return await write(events, patience, false)
    } finally {
      patience.end()
    }
  }

  async function takeFromSpool(events: readonly NewEvent[]): Promise<void> {
    await inStoreTime(clock, storeTimeoutMs, open())
    const results = await admitAroundPoison(writePlainly, events, events.length)
    const refused = events.filter((_, index) => results[index] instanceof Error)
    if (refused.length > 0) {
      await aside?.append(refused)
      report(
        new MessagingWebhooksError('event_refused', undefined, {
          cause: results.find((result) => result instanceof Error),
        }),
      )
    }
    onWork()
  }

  /** Without a spool, whose outage says so, callbacks alone tell that the store is away, and back. */
  function failed(error: unknown): MessagingWebhooksError {
    if (!closed) absence.begin('admission')
    return asOurs(error, 'store_failed')
  }

  const admitInBatches = inBatches(clock, storeTimeoutMs, writeInOrder)

  async function admitWaiting(admitted: Promise<Admission>, event: NewEvent): Promise<Admission> {
    try {
      const admission = await admitted
      if (absence.foundBy.size > 0) absence.end('admission')
      return admission
    } catch (error) {
      if (outage === undefined || closed) throw failed(error)
      outage.begin(error)
      return outage.take(event)
    }
  }

  /** The answer has one time for both, the opening and the admission. */
  async function admitWhenOpen(event: NewEvent): Promise<Admission> {
    const patience = new Patience(clock, storeTimeoutMs)
    async function openAndAdmit(): Promise<Admission> {
      await open()
      if (patience.isOver) throw new MessagingWebhooksError('store_slow')
      return admit(event)
    }
    try {
      return await patience.wait(openAndAdmit())
    } catch (error) {
      if (outage === undefined || closed) throw failed(error)
      outage.begin(error)
      return await outage.take(event)
    } finally {
      patience.end()
    }
  }

  function countStored(): Awaitable<StoreCounts> {
    return opened === undefined ? open().then((store) => store.counts()) : opened.counts()
  }

  function admit(event: NewEvent, timeoutMs?: number): Awaitable<Admission> {
    if (outage?.active === true) return outage.take(event)
    if (opened === undefined) return admitWhenOpen(event)
    try {
      const admission = admitInBatches(event, timeoutMs)
      if (admission instanceof Promise) return admitWaiting(admission, event)
      if (absence.foundBy.size > 0) absence.end('admission')
      return admission
    } catch (error) {
      if (outage === undefined) throw failed(error)
      outage.begin(error)
      return outage.take(event)
    }
  }

  return {
    open,
    admit,
    unsettled() {
      const counted = countStored()
      if (counted instanceof Promise) return counted.then(({ unsettled }) => unsettled + (outage?.held ?? 0))
      return counted.unsettled + (outage?.held ?? 0)
    },
    async known() {
      try {
        const counted = countStored()
        if (!(counted instanceof Promise)) return counted
        return await withDeadline<StoreCounts | undefined>(clock, storeTimeoutMs, counted, () => undefined)
      } catch {
        return undefined
      }
    },
    get spooled() {
      return outage?.held ?? 0
    },
    async close() {
      closed = true
      pruning.stop()
      outage?.stop()
      const target = await opening?.catch(() => undefined)
      opened = undefined
      await closeSpools()
      try {
        await target?.close()
      } catch (error) {
        // It is away; what it holds, it holds. A rejection would only keep the rest of the process from ending well.
        report(asOurs(error, 'store_failed'))
      }
    },
  }
}
