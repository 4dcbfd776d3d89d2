/** Admission: every verified event passes through here once, before the response. */
import { withDeadline } from '../runtime/clock.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import { keepingOf, knownOf, type Keeping, type Known } from './availability.ts'
import { inBatches, newDeadline, waitFor, type Deadline } from './in-store-time.ts'
import { admitAroundPoison } from './poison.ts'
import { refusedIn } from './spool.ts'
import type { Awaitable, Store } from './store.ts'
import { createTargets, type Spooling, type TargetOptions } from './targets.ts'
import { writingWith, type AdmitBatch } from './writing.ts'
import type { Admission } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'

interface InboxOptions extends TargetOptions {
  /** Maximum reorder wait. */
  readonly gapTimeoutMs: number
  readonly admitBatch: AdmitBatch
}

export type Inbox<X extends object> = ReturnType<typeof createInbox<X>>

export function createInbox<X extends object>(store: Store<X>, options: InboxOptions) {
  const { clock, storeTimeoutMs, availability } = options
  const write = writingWith(options)
  const targets = createTargets(store, options, write)

  /** Like `write`, but never writes a batch ahead of an earlier one that failed. */
  function writeInOrder(
    events: readonly NewEvent[],
    deadline: Deadline,
  ): readonly Admission[] | Promise<readonly (Admission | Error)[]> {
    const { spooling } = targets
    if (spooling?.relay.isUnavailable === true) throw new MessagingWebhooksError('store_outage')
    const recover = (error: unknown): Promise<readonly (Admission | Error)[]> => {
      // Without a spool, admit the events that the store accepts one by one.
      if (spooling === undefined)
        return admitAroundPoison(
          (some) => write({ store: targets.store, events: some, deadline, mayLease: false }),
          events,
        )
      spooling.relay.begin(error)
      throw error
    }
    try {
      const admissions = write({ store: targets.store, events, deadline, mayLease: true })
      return admissions instanceof Promise ? admissions.catch(recover) : admissions
    } catch (error) {
      return recover(error)
    }
  }

  /** Without a spool, only callbacks detect when the store becomes unavailable and when it is available again. */
  function failed(error: unknown): MessagingWebhooksError {
    if (!targets.isClosed) availability.begin('admission')
    return asOurs(error, 'store_failed')
  }

  const admitInBatches = inBatches(clock, storeTimeoutMs, writeInOrder)

  /** Spools an event that the store failed to admit. */
  function takeInstead(event: NewEvent, error: unknown, spooling = targets.spooling): Promise<Admission> {
    if (spooling === undefined || targets.isClosed) throw failed(error)
    spooling.relay.begin(error)
    return intoSpool(spooling, event)
  }

  async function intoSpool({ spool }: Spooling, event: NewEvent): Promise<Admission> {
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
      await targets.open()
      if (deadline.isOver) throw new MessagingWebhooksError('store_slow')
      return admit(event)
    }
    try {
      return await waitFor(deadline, openAndAdmit())
    } catch (error) {
      // A spool that is still opening keeps the event, however long it takes.
      return await takeInstead(event, error, await targets.spoolOpening()?.catch(() => undefined))
    } finally {
      deadline.cancel?.()
    }
  }

  /** Throws or rejects with a `MessagingWebhooksError` if neither store nor spool accepts the event. */
  function admit(event: NewEvent, timeoutMs?: number): Awaitable<Admission> {
    const { spooling } = targets
    if (spooling !== undefined && isSpooled(spooling, event)) return intoSpool(spooling, event)
    if (targets.store === undefined) return admitWhenOpen(event)
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
    open: targets.open,
    admit,
    /** Number of unsettled events in the store and on their way to it. */
    unsettled(): Awaitable<number> {
      // Count these first: an event that moves into the store meanwhile is counted twice rather than missed.
      const held = targets.spooling?.spool.waiting ?? 0
      const counted = targets.store?.counts() ?? targets.open().then((opened) => opened.counts())
      if (counted instanceof Promise) return counted.then(({ unsettled }) => unsettled + held)
      return counted.unsettled + held
    },
    /** Totals of the store. Undefined if it is unavailable or misses the deadline. */
    async known(): Promise<Known | undefined> {
      try {
        const asked = targets.store === undefined ? targets.open().then(knownOf) : knownOf(targets.store)
        return await withDeadline<Known | undefined>(clock, storeTimeoutMs, asked, () => undefined)
      } catch {
        return undefined
      }
    },
    /** Events in the spool, of all processes of the machine. */
    get spooled(): number {
      return targets.spooling?.spool.waiting ?? 0
    },
    /** Number of events that the store refuses for their content. They wait in the spool. */
    get refused(): number {
      return targets.spooling?.spool.refused ?? 0
    },
    /** The oldest of them. */
    async refusedEvents(limit: number) {
      const { localFile } = options
      return localFile === undefined || targets.spooling === undefined ? [] : refusedIn(localFile, limit)
    },
    /** Size of the local file. Undefined without an open spool. */
    get spoolBytes(): number | undefined {
      return targets.spooling?.spool.bytes
    },
    /** Whether a new event would be kept, and where. Never rejects, and takes at most `storeTimeoutMs`. */
    keeping: (): Promise<Keeping> =>
      keepingOf({
        clock,
        storeTimeoutMs,
        hasSpool: options.localFile !== undefined,
        open: targets.open,
        spooling: targets.spoolOpening,
      }),
    /** Erases matching events that have not reached the store. Returns how many there were. */
    async forgetSpooled(isMeant: (event: NewEvent) => boolean, dryRun: boolean): Promise<number> {
      return targets.spooling?.spool.forget(isMeant, dryRun) ?? 0
    },
    close: targets.close,
  }
}

/** Whether the event goes into the spool: the store is unavailable, or earlier events of its message may be there. */
function isSpooled({ spool, relay }: Spooling, { messageKey }: NewEvent): boolean {
  return relay.isUnavailable || (spool.isActive && spool.holds(messageKey))
}
