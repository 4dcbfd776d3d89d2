/** Admission: every proven event passes here, once, before it is answered. */
import { withDeadline, type Clock } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'
import { inBatches } from './batch.ts'
import { asStoreError } from './store-error.ts'
import type { Admission, Awaitable, NewEvent, OpenStore, Store } from './store.ts'

/** How often what is older than its retention is forgotten. */
const PRUNE_EVERY_MS = 60_000

export interface Inbox<X extends object> {
  /** Opens the store, once; a failed attempt is made anew by the next caller. */
  open(): Promise<OpenStore<X>>
  /** Throws or rejects with a `MessagingWebhooksError` where the store cannot take it. */
  admit(event: NewEvent): Awaitable<Admission>
  close(): Promise<void>
}

export function createInbox<X extends object>(
  store: Store<X>,
  options: { readonly clock: Clock; readonly storeTimeoutMs: number; readonly onWork: () => void },
): Inbox<X> {
  const { clock, storeTimeoutMs, onWork } = options
  let opened: OpenStore<X> | undefined
  let opening: Promise<OpenStore<X>> | undefined
  let stopPruning = (): void => {}

  async function openStore(): Promise<OpenStore<X>> {
    try {
      opened = await store.open({ onWork })
      prunePeriodically(opened)
      return opened
    } catch (error) {
      throw asStoreError(error)
    }
  }

  function open(): Promise<OpenStore<X>> {
    if (opening !== undefined) return opening
    const attempt = openStore()
    opening = attempt
    // `close` waits for it, so nobody has put another in its place.
    attempt.catch(() => {
      opening = undefined
    })
    return attempt
  }

  function prunePeriodically(target: OpenStore<X>): void {
    stopPruning = clock.setTimer(() => {
      // What could not be pruned now will be in a minute.
      void callSafely(() => target.prune(clock.now())).then(
        () => prunePeriodically(target),
        () => prunePeriodically(target),
      )
    }, PRUNE_EVERY_MS)
  }

  const admitBatched = inBatches((events: readonly NewEvent[]): Awaitable<readonly Admission[]> => {
    if (opened === undefined) throw new MessagingWebhooksError('receiver_closed')
    const admissions = opened.admit(events, clock.now())
    if (!(admissions instanceof Promise)) return admissions
    return withDeadline(clock, storeTimeoutMs, admissions, () => {
      throw new MessagingWebhooksError('store_slow')
    })
  })

  function admit(event: NewEvent): Awaitable<Admission> {
    if (opened === undefined) return admitWhenOpen(event)
    try {
      const admission = admitBatched(event)
      return admission instanceof Promise ? rejectAsStoreError(admission) : admission
    } catch (error) {
      throw asStoreError(error)
    }
  }

  async function admitWhenOpen(event: NewEvent): Promise<Admission> {
    await withDeadline(clock, storeTimeoutMs, open(), () => {
      throw new MessagingWebhooksError('store_slow')
    })
    return admit(event)
  }

  return {
    open,
    admit,
    async close() {
      stopPruning()
      const target = await opening?.catch(() => undefined)
      opened = undefined
      opening = Promise.reject(new MessagingWebhooksError('receiver_closed'))
      opening.catch(() => {})
      await target?.close()
    },
  }
}

async function rejectAsStoreError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw asStoreError(error)
  }
}

async function callSafely<T>(work: () => Awaitable<T>): Promise<T> {
  return work()
}
