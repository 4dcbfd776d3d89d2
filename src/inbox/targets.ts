/** What the inbox writes into: the store, and the spool for events that the store cannot accept. Each is opened once. */
import type { SteadyClock } from '../runtime/clock.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import type { StoreAvailability } from './availability.ts'
import type { LocalFile } from '../local-file/local-file.ts'
import { createPruning } from './pruning.ts'
import { createRelay, type Relay } from './relay.ts'
import { openSpool, type Spool } from './spool.ts'
import type { MessageStore, Store, StoreHost } from './store.ts'
import type { WriteBatch } from './writing.ts'

export interface TargetOptions {
  readonly clock: SteadyClock
  readonly storeTimeoutMs: number
  readonly report: (error: MessagingWebhooksError) => void
  readonly availability: StoreAvailability
  /** Notifies that an event may be due: another process has admitted one, or an outage is over. */
  readonly onWork: () => void
  readonly elapsedMs: () => number
  readonly host: Pick<StoreHost, 'onLost' | 'inFlight' | 'claims'>
  /** Has the spool. Undefined without a spool. */
  readonly localFile: LocalFile | undefined
  /** Masked in the stored errors of events that the store refuses. */
  readonly secrets: () => readonly string[]
}

/** The spool, and the way from there into the store. */
export interface Spooling {
  readonly spool: Spool
  readonly relay: Relay
}

/** `write` is how the relay writes into the open store. */
export function createTargets<X extends object>(store: Store<X>, options: TargetOptions, write: WriteBatch) {
  const { clock, storeTimeoutMs, report, localFile, onWork } = options
  const pruning = createPruning(clock)
  let opening: Promise<MessageStore<X>> | undefined
  let spooling: Promise<Spooling> | undefined
  let hasSpoolFailed = false

  async function openSpooling(file: LocalFile): Promise<Spooling> {
    let wake = (): void => {}
    const spool = await openSpool({ clock, file, leaseMs: 2 * storeTimeoutMs, report, onFound: () => wake() })
    const relay = createRelay({
      ...options,
      spool,
      openStore: open,
      write: (events, deadline) => write({ store: targets.store, events, deadline, mayLease: false }),
    })
    wake = relay.wake
    if (spool.isActive) wake()
    return { spool, relay }
  }

  async function openSpoolOnce(file: LocalFile): Promise<void> {
    spooling ??= openSpooling(file)
    try {
      targets.spooling = await spooling
    } catch (error) {
      spooling = undefined
      throw error
    }
  }

  async function openStore(): Promise<MessageStore<X>> {
    return store.open({
      ...options.host,
      nowMs: () => clock.now(),
      wallMs: () => clock.now() - clock.aheadMs,
      elapsedMs: options.elapsedMs,
      onWork,
      report,
    })
  }

  async function openBoth(): Promise<MessageStore<X>> {
    // At the same time as the spool, because each may start a thread. Not again after the spool has failed: every callback
    // would open the store to close it.
    const openingStore = hasSpoolFailed ? undefined : openStore()
    // It may fail while the spool is still opening.
    openingStore?.catch(() => {})
    try {
      if (localFile !== undefined) await openSpoolOnce(localFile)
      hasSpoolFailed = false
    } catch (error) {
      hasSpoolFailed = true
      openingStore?.then((opened) => opened.close()).catch(() => {})
      throw asOurs(error, 'store_failed')
    }
    try {
      const opened = await (openingStore ?? openStore())
      targets.store = opened
      pruning.begin(opened)
      return opened
    } catch (error) {
      targets.spooling?.relay.begin(error)
      throw asOurs(error, 'store_failed')
    }
  }

  /** Opens the spool, then the store. After a failure, the next call tries again. */
  function open(): Promise<MessageStore<X>> {
    if (targets.isClosed) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    if (opening !== undefined) return opening
    const attempt = openBoth()
    opening = attempt
    // No other attempt has replaced it: `open` returns this one until it fails.
    attempt.catch(() => {
      opening = undefined
    })
    return attempt
  }

  async function close(): Promise<void> {
    targets.isClosed = true
    pruning.stop()
    targets.spooling?.relay.stop()
    const opened = await opening?.catch(() => undefined)
    targets.store = undefined
    await targets.spooling?.spool.close()
    try {
      await opened?.close()
    } catch (error) {
      // An unavailable store keeps its data. A rejection would only disrupt the shutdown of the process.
      report(asOurs(error, 'store_failed'))
    }
  }

  // Fields instead of getters, because every event reads them.
  const targets: OpenTargets<X> = { store: undefined, spooling: undefined, isClosed: false }
  return Object.assign(targets, { open, close, spoolOpening: () => spooling })
}

interface OpenTargets<X extends object> {
  /** Undefined until it is open. */
  store: MessageStore<X> | undefined
  /** Undefined until the spool is open, and without one. */
  spooling: Spooling | undefined
  isClosed: boolean
}
