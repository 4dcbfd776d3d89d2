/** Whether a new event would be kept, and where. For probes, which run often and must not load the store. */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import type { Spooling } from './spooling.ts'
import type { Awaitable, OpenStore } from './store.ts'

/**
 * Where a new event would be kept. `store`; `spool`: the store is unavailable; `nowhere`: the store is unavailable and there is
 * no spool; `spool_failing`: the spool fails, and the store is unavailable or its state unknown.
 */
export type Keeping = 'store' | 'spool' | 'nowhere' | 'spool_failing'

interface KeepingOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly hasSpool: boolean
  readonly open: () => Promise<OpenStore<object>>
  /** Undefined before the first `open`. */
  readonly spooling: () => Promise<Spooling> | undefined
}

/** No message has this key. Looking it up is the cheapest call of every store. */
const NO_MESSAGE = ''

/** Resolves within `storeTimeoutMs` and never rejects. Does not call a store behind a working spool. */
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
    if (spooled !== undefined && (await spooled.canTake())) return spooled.outage.active ? 'spool' : 'store'
    if (spooled?.outage.active !== false) return 'spool_failing'
  }
  const store = await opening
  const asked: Awaitable<unknown> = store.latest(NO_MESSAGE)
  await asked
  return 'store'
}
