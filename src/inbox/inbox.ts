/** Admission: every proven event passes here, once, before it is answered. */
import type { SteadyClock } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'
import { inBatches } from './batch.ts'
import { inStoreTime } from './in-store-time.ts'
import { createOutage, type Outage } from './outage.ts'
import { admitAroundPoison } from './poison.ts'
import type { Spool } from './spool/spool.ts'
import type { Spools } from './spool/spools.ts'
import { asStoreError } from './store-error.ts'
import type { Admission, Awaitable, NewEvent, OpenStore, Store, StoreCounts } from './store.ts'
import { createWrite, type LocalDispatch, type Write } from './write.ts'

/** How often what is older than its retention is forgotten. */
const PRUNE_EVERY_MS = 60_000
const PRUNE_AGAIN_MS = 1_000

interface InboxOptions {
  readonly clock: SteadyClock
  readonly storeTimeoutMs: number
  readonly report: (error: MessagingWebhooksError) => void
  /** Something may be due: another process has admitted it, or an outage is over. */
  readonly onWork: () => void
  /** False where nothing is claimed here. */
  readonly claims: boolean
  readonly local: LocalDispatch
  /** Opens the journals for what the store cannot take; undefined for none. */
  readonly openSpools: (() => Promise<Spools>) | undefined
}

export interface Inbox<X extends object> {
  /** Opens the spool and the store, once; a failed attempt is made anew by the next caller. */
  open(): Promise<OpenStore<X>>
  /** Throws or rejects with a `MessagingWebhooksError` where neither store nor spool can take it. */
  admit(event: NewEvent): Awaitable<Admission>
  /** What the store counts; what waits in the spool for it is unsettled too. */
  counts(): Awaitable<StoreCounts>
  close(): Promise<void>
}

export function createInbox<X extends object>(store: Store<X>, options: InboxOptions): Inbox<X> {
  const { clock, storeTimeoutMs, report, onWork } = options
  const write = createWrite(options)
  let opened: OpenStore<X> | undefined
  let opening: Promise<OpenStore<X>> | undefined
  let spooling: Promise<void> | undefined
  let outage: Outage | undefined
  let aside: Spool | undefined
  let closeSpools = async (): Promise<void> => {}
  let stopPruning = (): void => {}
  let closed = false

  async function openSpools(openThem: () => Promise<Spools>): Promise<void> {
    const spools = await openThem()
    closeSpools = async () => {
      await spools.outage.close()
      await spools.aside.close()
    }
    // Once a start, by way of the other spool: what the store refuses still comes back here.
    await spools.aside.drain((events) => spools.outage.append(events))
    aside = spools.aside
    outage = createOutage({ clock, spool: spools.outage, take: takeFromSpool, report, onOver: onWork })
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
      prunePeriodically(opened)
      return opened
    } catch (error) {
      outage?.begin(error)
      throw asStoreError(error)
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

  /** A step at a time: soon again while there is something to forget, so that a busy store keeps up. */
  function prunePeriodically(target: OpenStore<X>, afterMs = PRUNE_EVERY_MS): void {
    if (closed) return
    stopPruning = clock.setTimer(() => {
      const prune = async (): Promise<number> => target.prune(clock.now())
      // What could not be pruned now will be in a minute.
      void prune().then(
        (forgotten) => prunePeriodically(target, forgotten > 0 ? PRUNE_AGAIN_MS : PRUNE_EVERY_MS),
        () => prunePeriodically(target),
      )
    }, afterMs)
  }

  /** A gap began when its callback arrived, by the wall's clock. */
  function onSteadyClock(event: NewEvent): NewEvent {
    return event.awaits === 0 ? event : { ...event, gapUntilMs: event.gapUntilMs + clock.aheadMs }
  }

  /** One batch into the store, in time; `how` is `andRun` for what has just arrived. */
  function writeBy(how: keyof Write, events: readonly NewEvent[]): Awaitable<readonly Admission[]> {
    if (opened === undefined) throw new MessagingWebhooksError('receiver_closed')
    const nowMs = clock.now()
    return write[how](opened, clock.aheadMs === 0 ? events : events.map(onSteadyClock), nowMs)
  }

  function writePlainly(events: readonly NewEvent[]): Awaitable<readonly Admission[]> {
    return writeBy('plainly', events)
  }

  /** The same, and nothing that waits behind a failed batch is written before it. */
  function writeInOrder(events: readonly NewEvent[]): Awaitable<readonly (Admission | Error)[]> {
    if (outage?.active === true) throw new MessagingWebhooksError('store_outage')
    try {
      const admissions = writeBy('andRun', events)
      return admissions instanceof Promise ? admissions.catch((error: unknown) => recover(events, error)) : admissions
    } catch (error) {
      return recover(events, error)
    }
  }

  function recover(events: readonly NewEvent[], error: unknown): Promise<readonly (Admission | Error)[]> {
    // Without a spool there is nobody to keep what the store may take alone.
    if (outage === undefined) return admitAroundPoison(writePlainly, events)
    outage.begin(error)
    throw error
  }

  async function takeFromSpool(events: readonly NewEvent[]): Promise<void> {
    await inTime(open())
    const results = await admitAroundPoison(writePlainly, events)
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

  function inTime<T>(work: Promise<T>): Promise<T> {
    return inStoreTime(clock, storeTimeoutMs, work)
  }

  const admitBatched = inBatches(writeInOrder)

  async function keep(target: Outage, event: NewEvent): Promise<Admission> {
    await target.keep(event)
    return 'new'
  }

  async function admitWaiting(admitted: Promise<Admission>, event: NewEvent): Promise<Admission> {
    try {
      return await admitted
    } catch (error) {
      if (outage === undefined || closed) throw asStoreError(error)
      return keep(outage, event)
    }
  }

  async function admitWhenOpen(event: NewEvent): Promise<Admission> {
    try {
      await inTime(open())
    } catch (error) {
      if (outage === undefined || closed) throw asStoreError(error)
      outage.begin(error)
      return keep(outage, event)
    }
    return admit(event)
  }

  function withSpooled({ unsettled, deadLetters }: StoreCounts): StoreCounts {
    return { unsettled: unsettled + (outage?.held ?? 0), deadLetters }
  }

  function admit(event: NewEvent): Awaitable<Admission> {
    if (outage?.active === true) return keep(outage, event)
    if (opened === undefined) return admitWhenOpen(event)
    try {
      const admission = admitBatched(event)
      return admission instanceof Promise ? admitWaiting(admission, event) : admission
    } catch (error) {
      if (outage === undefined) throw asStoreError(error)
      return keep(outage, event)
    }
  }

  return {
    open,
    admit,
    counts() {
      const counted = opened === undefined ? open().then((store) => store.counts()) : opened.counts()
      return counted instanceof Promise ? counted.then(withSpooled) : withSpooled(counted)
    },
    async close() {
      closed = true
      stopPruning()
      outage?.stop()
      const target = await opening?.catch(() => undefined)
      opened = undefined
      await closeSpools()
      try {
        await target?.close()
      } catch (error) {
        // It is away; what it holds, it holds. A rejection would only keep the rest of the process from ending well.
        report(asStoreError(error))
      }
    },
  }
}
