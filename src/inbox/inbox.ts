/** Admission: every proven event passes here, once, before it is answered. */
import { withDeadline, type SteadyClock } from '../runtime/clock.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import type { Absence } from './absence.ts'
import { isForgotten } from './forgotten.ts'
import { keepingOf, type Keeping } from './keeping.ts'
import { inBatches, newPatience, waitFor, type Patience } from './in-store-time.ts'
import { knownOf, type Known } from './known.ts'
import type { Outage } from './outage.ts'
import { admitAroundPoison } from './poison.ts'
import { createPruning } from './pruning.ts'
import { openSpooling, type Spooling } from './spooling.ts'
import type { Spools } from './spool/spool.ts'
import type { Admission, Awaitable, NewEvent, OpenStore, Store, StoreHost } from './store.ts'

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
  /** The longest that an event may wait for a step of its message. */
  readonly gapTimeoutMs: number
  readonly report: (error: MessagingWebhooksError) => void
  readonly absence: Absence
  /** Something may be due: another process has admitted it, or an outage is over. */
  readonly onWork: () => void
  /** What was leased of these messages may be somebody else's. */
  readonly onLost?: StoreHost['onLost']
  /** False where nothing is claimed here. */
  readonly claims: boolean
  /** False if no report waits for pending sends in the store. Default true. */
  readonly awaitsAnswers?: boolean | undefined
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
  /** What the store itself knows; undefined where it does not say in time, or is away. */
  known(): Promise<Known | undefined>
  /** Events that are on their way to the store: in the spool, or waiting for its rest. */
  readonly spooled: number
  /** What the files of the spool take; undefined where there is none, or it is not open yet. */
  readonly spoolBytes: number | undefined
  /** Whether what comes now would be kept, and where. It never rejects, and waits for `storeTimeoutMs` at most. */
  keeping(): Promise<Keeping>
  /** Forgets them, where they are meant; says how many there were. Of the store itself it knows nothing. */
  forgetSpooled(isMeant: (event: NewEvent) => boolean, dryRun: boolean): Promise<number>
  close(): Promise<void>
}

/** A store that fails between the two is asked again long before. */
const UNTIL_FORGOTTEN_MS = 600_000

export function createInbox<X extends object>(store: Store<X>, options: InboxOptions): Inbox<X> {
  const { clock, storeTimeoutMs, gapTimeoutMs, report, absence, admitBatch, onWork, onLost } = options
  const pruning = createPruning(clock)
  let opened: OpenStore<X> | undefined
  let opening: Promise<OpenStore<X>> | undefined
  let spooling: Promise<Spooling> | undefined
  let spooled: Spooling | undefined
  let outage: Outage | undefined
  let closed = false

  async function openBehind(openSpools: () => Promise<Spools>): Promise<void> {
    spooling ??= openSpooling({
      clock,
      storeTimeoutMs,
      absence,
      report,
      openSpools,
      openStore: open,
      write: (events, patience) => write(events, patience, false),
      admit,
      onWork,
    })
    try {
      spooled = await spooling
      outage = spooled.outage
    } catch (error) {
      spooling = undefined
      throw error
    }
  }

  async function openStore(): Promise<OpenStore<X>> {
    try {
      if (options.openSpools !== undefined) await openBehind(options.openSpools)
      opened = await store.open({
        onWork,
        onLost,
        report,
        claims: options.claims,
        awaitsAnswers: options.awaitsAnswers ?? true,
      })
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
    // Nobody shall be given it before the store has forgotten it, too.
    if (isForgotten(event)) return { ...event, gapUntilMs: nowMs + UNTIL_FORGOTTEN_MS }
    const mostMs = Math.min(gapTimeoutMs, event.gapUntilMs - event.record.receivedAtMs)
    return { ...event, gapUntilMs: Math.min(event.gapUntilMs + clock.aheadMs, nowMs + mostMs) }
  }

  /** One batch into the store, in time. */
  function write(
    events: readonly NewEvent[],
    patience: Patience,
    mayLease: boolean,
  ): readonly Admission[] | Promise<readonly (Admission | Error)[]> {
    if (opened === undefined) throw new MessagingWebhooksError('receiver_closed')
    if (patience.isOver) throw new MessagingWebhooksError('store_slow')
    const nowMs = clock.now()
    const haveGaps = events.some(({ awaits }) => awaits !== 0)
    const timed = haveGaps ? events.map((event) => onSteadyClock(event, nowMs)) : events
    const admissions = admitBatch({ store: opened, events: timed, nowMs, patience, mayLease })
    return admissions instanceof Promise ? admissions.then(withErrors) : admissions
  }

  /** The same, and nothing that waits behind a failed batch is written before it. */
  function writeInOrder(
    events: readonly NewEvent[],
    patience: Patience,
  ): readonly Admission[] | Promise<readonly (Admission | Error)[]> {
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

  /** Without a spool, whose outage says so, callbacks alone tell that the store is away, and back. */
  function failed(error: unknown): MessagingWebhooksError {
    if (!closed) absence.begin('admission')
    return asOurs(error, 'store_failed')
  }

  const admitInBatches = inBatches(clock, storeTimeoutMs, writeInOrder)

  /** What the store has failed to take goes where the rest of its outage goes. */
  function takeInstead(event: NewEvent, error: unknown): Promise<Admission> {
    if (outage === undefined || closed) throw failed(error)
    outage.begin(error)
    return outage.take(event)
  }

  /** The answer has one time for both, the opening and the admission. */
  async function admitWhenOpen(event: NewEvent): Promise<Admission> {
    const patience = newPatience(clock, storeTimeoutMs)
    async function openAndAdmit(): Promise<Admission> {
      await open()
      if (patience.isOver) throw new MessagingWebhooksError('store_slow')
      return admit(event)
    }
    try {
      return await waitFor(patience, openAndAdmit())
    } catch (error) {
      return await takeInstead(event, error)
    } finally {
      patience.cancel?.()
    }
  }

  function admit(event: NewEvent, timeoutMs?: number): Awaitable<Admission> {
    if (outage?.active === true) return outage.take(event)
    if (opened === undefined) return admitWhenOpen(event)
    try {
      const admission = admitInBatches(event, timeoutMs)
      if (admission instanceof Promise)
        return admission.then(
          (settled) => {
            if (absence.foundBy.size > 0) absence.end('admission')
            return settled
          },
          (error: unknown) => takeInstead(event, error),
        )
      if (absence.foundBy.size > 0) absence.end('admission')
      return admission
    } catch (error) {
      return takeInstead(event, error)
    }
  }

  return {
    open,
    admit,
    unsettled() {
      // First: what goes on into the store meanwhile is counted twice, and never not at all.
      const held = outage?.active === true ? outage.held : 0
      const counted = opened === undefined ? open().then((store) => store.counts()) : opened.counts()
      if (counted instanceof Promise) return counted.then(({ unsettled }) => unsettled + held)
      return counted.unsettled + held
    },
    async known() {
      try {
        const asked = opened === undefined ? open().then(knownOf) : knownOf(opened)
        return await withDeadline<Known | undefined>(clock, storeTimeoutMs, asked, () => undefined)
      } catch {
        return undefined
      }
    },
    get spooled() {
      return outage?.active === true ? outage.held : 0
    },
    get spoolBytes() {
      return spooled?.bytes
    },
    keeping: () =>
      keepingOf({ clock, storeTimeoutMs, hasSpool: options.openSpools !== undefined, open, spooling: () => spooling }),
    async forgetSpooled(isMeant, dryRun) {
      return spooled === undefined ? 0 : spooled.forget(isMeant, dryRun)
    },
    async close() {
      closed = true
      pruning.stop()
      outage?.stop()
      const target = await opening?.catch(() => undefined)
      opened = undefined
      await spooled?.close()
      try {
        await target?.close()
      } catch (error) {
        // It is away; what it holds, it holds. A rejection would only keep the rest of the process from ending well.
        report(asOurs(error, 'store_failed'))
      }
    },
  }
}

/** What the store cannot keep before this package is updated is an error of its event alone. */
function withErrors(admissions: readonly Admission[]): readonly (Admission | Error)[] {
  if (!admissions.includes('newer')) return admissions
  return admissions.map((one) => (one === 'newer' ? new MessagingWebhooksError('store_newer') : one))
}
