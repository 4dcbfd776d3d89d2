/** Whether what comes now would be kept, and where: for probes, which ask often and must not weigh on the store. */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import type { Spooling } from './spooling.ts'
import type { Awaitable, OpenStore } from './store.ts'

/**
 * Where it would be kept: in the `store`; in the `spool`, for the store is away; `nowhere`, for the store is away and there is
 * no spool; or it would not, for the store is away or unsure and the spool fails (`spool_failing`).
 */
export type Keeping = 'store' | 'spool' | 'nowhere' | 'spool_failing'

interface KeepingOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly hasSpool: boolean
  readonly open: () => Promise<OpenStore<object>>
  /** Undefined until the first `open`. */
  readonly spooling: () => Promise<Spooling> | undefined
}

/** No message has this key; to look for it is the cheapest question of every store. */
const NO_MESSAGE = ''

/** Resolves after `storeTimeoutMs` at the latest, and never rejects. A store behind a spool that works is not asked. */
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
  // Somebody waits for it below, or a spool stands in for it.
  opening.catch(() => {})
  if (hasSpool) {
    // The spool is opened first: a store that hangs as it is opened keeps nobody from it.
    const spooled = await spooling()
    if (spooled !== undefined && (await spooled.canTake())) return spooled.outage.active ? 'spool' : 'store'
    if (spooled?.outage.active !== false) return 'spool_failing'
  }
  const store = await opening
  const asked: Awaitable<unknown> = store.latest(NO_MESSAGE)
  await asked
  return 'store'
}
