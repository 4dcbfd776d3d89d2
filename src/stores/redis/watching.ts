/** Periodic checks for due events of other processes, and for emptied servers. */
import { randomBytes } from 'node:crypto'
import { systemClock, withDeadline } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { watch } from '../watch.ts'
import { ask, type Engine } from './engine.ts'
import type { Partition } from './partitions.ts'

/** How often to check whether a server was emptied. */
const LOOK_EVERY_MS = 1_000
/** How long opening waits for the first check: a server of a cluster may be unavailable. */
const BEGIN_MS = 1_000
const MARK = 'mark'

/**
 * Detects that the server was emptied (FLUSHALL, or a restart without persistence): each partition has a mark that is never
 * deleted. A process that finds no mark writes another one, and other processes notice the change. `restoreLayout` writes
 * the layout again. Returns a function that ends the check.
 */
export async function watchEmptied(engine: Engine, restoreLayout: () => Promise<unknown>): Promise<() => void> {
  const { partitions, report } = engine
  const marks = new Map<Partition, string>()

  /** Whether the partition was emptied since the last check. */
  async function isEmptied(partition: Partition): Promise<boolean> {
    await ask(engine, partition, ['SET', MARK, randomBytes(8).toString('hex'), 'NX'])
    const found = await ask(engine, partition, ['GET', MARK])
    const known = marks.get(partition)
    const mark = Buffer.isBuffer(found) ? found.toString() : ''
    marks.set(partition, mark)
    return known !== undefined && known !== mark
  }

  async function look(): Promise<number> {
    // A check that fails, for example on a key of another type, does not show an emptied server.
    const found = await Promise.all(partitions.all.map((partition) => isEmptied(partition).catch(() => false)))
    const emptied = found.filter(Boolean).length
    if (emptied > 0) await restoreLayout().catch(() => {})
    return emptied
  }

  await withDeadline(systemClock(), BEGIN_MS, look(), () => 0)
  return watch(LOOK_EVERY_MS, look, (emptied) => {
    if (emptied === 0) return
    report(new MessagingWebhooksError('store_emptied', `It held ${emptied} of ${partitions.all.length} partitions.`))
  })
}
