/** Admission: every verified event passes through here once, before the response. */
import { withDeadline, type SteadyClock } from '../runtime/clock.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import { keepingOf, knownOf, type StoreAvailability, type Keeping, type Known } from './availability.ts'
import type { LocalFile } from '../local-file/local-file.ts'
import { inBatches, newDeadline, waitFor, type Deadline } from './in-store-time.ts'
import { admitAroundPoison } from './poison.ts'
import { createPruning } from './pruning.ts'
import { createRelay, type Relay } from './relay.ts'
import { openSpool, type Spool } from './spool.ts'
import type { Awaitable, MessageStore, Store, StoreHost } from './store.ts'
import type { Admission } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'

/**
 * Admits a batch into the open store and schedules its dispatch. With `mayLease` it may lease, in the same step, events that
 * can run here immediately. Rejects with `store_slow` at the deadline.
 */
export type AdmitBatch = (batch: {
  readonly store: MessageStore<object>
  readonly events: readonly NewEvent[]
  readonly deadline: Deadline
  readonly mayLease: boolean
}) => Awaitable<readonly Admission[]>

interface InboxOptions {
  readonly clock: SteadyClock
  readonly storeTimeoutMs: number
  /** Maximum reorder wait. */
  readonly gapTimeoutMs: number
  readonly report: (error: MessagingWebhooksError) => void
  readonly availability: StoreAvailability
  /** Notifies that an event may be due: another process has admitted one, or an outage is over. */
  readonly onWork: () => void
  readonly elapsedMs: () => number
  readonly host: Pick<StoreHost, 'onLost' | 'inFlight' | 'claims'>
  readonly admitBatch: AdmitBatch
  /** Has the spool, for events that the store cannot accept. Undefined without a spool. */
  readonly localFile: LocalFile | undefined
  /** Masked in the stored errors of events that the store refuses. */
  readonly secrets: () => readonly string[]
}

export type Inbox<X extends object> = ReturnType<typeof createInbox<X>>

export function createInbox<X extends object>(store: Store<X>, options: InboxOptions) {
  const { clock, storeTimeoutMs, gapTimeoutMs, report, availability, admitBatch, onWork } = options
  const pruning = createPruning(clock)
  let opened: MessageStore<X> | undefined
  let opening: Promise<MessageStore<X>> | undefined
  let spooling: Promise<Spooling> | undefined
  let spooled: Spooling | undefined
  let closed = false

  async function openBehind(file: LocalFile): Promise<void> {
    spooling ??= openSpooling(file)
    try {
      spooled = await spooling
    } catch (error) {
      spooling = undefined
      throw error
    }
  }

  /** The spool, and the way from there into the store. */
  async function openSpooling(file: LocalFile) {
    let wake = (): void => {}
    const spool = await openSpool({ clock, file, leaseMs: 2 * storeTimeoutMs, report, onFound: () => wake() })
    const relay = createRelay({
      ...options,
      spool,
      openStore: open,
      write: (events, deadline) => write(events, deadline, false),
    })
    wake = relay.wake
    if (spool.isActive) wake()
    return { spool, relay }
  }

  async function openStore(): Promise<MessageStore<X>> {
    try {
      if (options.localFile !== undefined) await openBehind(options.localFile)
      opened = await store.open({
        ...options.host,
        nowMs: () => clock.now(),
        elapsedMs: options.elapsedMs,
        onWork,
        report,
      })
      pruning.begin(opened)
      return opened
    } catch (error) {
      spooled?.relay.begin(error)
      throw asOurs(error, 'store_failed')
    }
  }

  /** Opens the spool and the store once. After a failure, the next call tries again. */
  function open(): Promise<MessageStore<X>> {
    if (closed) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    if (opening !== undefined) return opening
    const attempt = openStore()
    opening = attempt
    // No other attempt has replaced it: `open` returns this one until it fails.
    attempt.catch(() => {
      opening = undefined
    })
    return attempt
  }

  /** The reorder wait starts when the callback arrives, and part of it may have passed on the way. */
  function withRestOfWait(event: NewEvent, nowMs: number): NewEvent {
    if (event.awaits === 0) return event
    const passedMs = Math.max(0, nowMs - event.record.receivedAtMs - clock.aheadMs)
    return { ...event, reorderWaitMs: Math.max(0, Math.min(gapTimeoutMs, event.reorderWaitMs - passedMs)) }
  }

  /** Writes one batch into the store, within the deadline. */
  function write(events: readonly NewEvent[], deadline: Deadline, mayLease: boolean): Awaitable<readonly Admission[]> {
    if (opened === undefined) throw new MessagingWebhooksError('receiver_closed')
    if (deadline.isOver) throw new MessagingWebhooksError('store_slow')
    const haveWaits = events.some(({ awaits }) => awaits !== 0)
    const nowMs = haveWaits ? clock.now() : 0
    const timed = haveWaits ? events.map((event) => withRestOfWait(event, nowMs)) : events
    return admitBatch({ store: opened, events: timed, deadline, mayLease })
  }

  /** Like `write`, but never writes a batch ahead of an earlier one that failed. */
  function writeInOrder(
    events: readonly NewEvent[],
    deadline: Deadline,
  ): readonly Admission[] | Promise<readonly (Admission | Error)[]> {
    if (spooled?.relay.isUnavailable === true) throw new MessagingWebhooksError('store_outage')
    const recover = (error: unknown): Promise<readonly (Admission | Error)[]> => {
      // Without a spool, admit the events that the store accepts one by one.
      if (spooled === undefined) return admitAroundPoison((some) => write(some, deadline, false), events)
      spooled.relay.begin(error)
      throw error
    }
    try {
      const admissions = write(events, deadline, true)
      return admissions instanceof Promise ? admissions.catch(recover) : admissions
    } catch (error) {
      return recover(error)
    }
  }

  /** Without a spool, only callbacks detect when the store becomes unavailable and when it is available again. */
  function failed(error: unknown): MessagingWebhooksError {
    if (!closed) availability.begin('admission')
    return asOurs(error, 'store_failed')
  }

  const admitInBatches = inBatches(clock, storeTimeoutMs, writeInOrder)

  /** Spools an event that the store failed to admit. */
  function takeInstead(event: NewEvent, error: unknown): Promise<Admission> {
    if (spooled === undefined || closed) throw failed(error)
    spooled.relay.begin(error)
    return intoSpool(spooled.spool, event)
  }

  async function intoSpool(spool: Spool, event: NewEvent): Promise<Admission> {
    try {
      await spool.append(event)
      return 'new'
    } catch (error) {
      throw new MessagingWebhooksError('spool_failed', undefined, { cause: error })
    }
  }

  /** Opening and admission share one deadline. */
  async function admitWhenOpen(event: NewEvent): Promise<Admission> {
    const deadline = newDeadline(clock, storeTimeoutMs)
    async function openAndAdmit(): Promise<Admission> {
      await open()
      if (deadline.isOver) throw new MessagingWebhooksError('store_slow')
      return admit(event)
    }
    try {
      return await waitFor(deadline, openAndAdmit())
    } catch (error) {
      return await takeInstead(event, error)
    } finally {
      deadline.cancel?.()
    }
  }

  /** Throws or rejects with a `MessagingWebhooksError` if neither store nor spool accepts the event. */
  function admit(event: NewEvent, timeoutMs?: number): Awaitable<Admission> {
    if (spooled !== undefined && isSpooled(spooled, event)) return intoSpool(spooled.spool, event)
    if (opened === undefined) return admitWhenOpen(event)
    try {
      const admission = admitInBatches(event, timeoutMs)
      if (admission instanceof Promise)
        return admission.then(
          (settled) => {
            if (availability.foundBy.size > 0) availability.end('admission')
            return settled
          },
          (error: unknown) => takeInstead(event, error),
        )
      if (availability.foundBy.size > 0) availability.end('admission')
      return admission
    } catch (error) {
      return takeInstead(event, error)
    }
  }

  return {
    open,
    admit,
    /** Number of unsettled events in the store and on their way to it. */
    unsettled(): Awaitable<number> {
      // Count these first: an event that moves into the store meanwhile is counted twice rather than missed.
      const held = spooled?.spool.waiting ?? 0
      const counted = opened === undefined ? open().then((store) => store.counts()) : opened.counts()
      if (counted instanceof Promise) return counted.then(({ unsettled }) => unsettled + held)
      return counted.unsettled + held
    },
    /** Totals of the store. Undefined if it is unavailable or misses the deadline. */
    async known(): Promise<Known | undefined> {
      try {
        const asked = opened === undefined ? open().then(knownOf) : knownOf(opened)
        return await withDeadline<Known | undefined>(clock, storeTimeoutMs, asked, () => undefined)
      } catch {
        return undefined
      }
    },
    /** Events in the spool, of all processes of the machine. */
    get spooled(): number {
      return spooled?.spool.waiting ?? 0
    },
    /** Size of the local file. Undefined without an open spool. */
    get spoolBytes(): number | undefined {
      return spooled?.spool.bytes
    },
    /** Whether a new event would be kept, and where. Never rejects, and takes at most `storeTimeoutMs`. */
    keeping: (): Promise<Keeping> =>
      keepingOf({ clock, storeTimeoutMs, hasSpool: options.localFile !== undefined, open, spooling: () => spooling }),
    /** Erases matching events that have not reached the store. Returns how many there were. */
    async forgetSpooled(isMeant: (event: NewEvent) => boolean, dryRun: boolean): Promise<number> {
      return spooled === undefined ? 0 : spooled.spool.forget(isMeant, dryRun)
    },
    async close(): Promise<void> {
      closed = true
      pruning.stop()
      spooled?.relay.stop()
      const target = await opening?.catch(() => undefined)
      opened = undefined
      await spooled?.spool.close()
      try {
        await target?.close()
      } catch (error) {
        // An unavailable store keeps its data. A rejection would only disrupt the shutdown of the process.
        report(asOurs(error, 'store_failed'))
      }
    },
  }
}

interface Spooling {
  readonly spool: Spool
  readonly relay: Relay
}

/** Whether the event goes into the spool: the store is unavailable, or earlier events of its message may be there. */
function isSpooled({ spool, relay }: Spooling, { messageKey }: NewEvent): boolean {
  return relay.isUnavailable || (spool.isActive && spool.holds(messageKey))
}
