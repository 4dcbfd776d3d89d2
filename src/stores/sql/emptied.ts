/** Detects that tables were emptied while the store was open: TRUNCATE, DELETE, or a database restored from a backup. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Retention } from '../../messages/commands.ts'
import { isGone, readLiveness, type Liveness } from '../liveness.ts'
import { watch } from '../watch.ts'
import type { SqlEngine } from './engine.ts'
import { isNull, leastNumberAt } from './values.ts'

/** As often as a worker sends a heartbeat. */
const LOOK_EVERY_MS = 2_000
/** The newest record may be pruned this much earlier than its number says. */
const MARGIN_MS = 60_000

/** What must still be there at the next look. */
interface Seen {
  readonly nowMs: number
  readonly newest: string | undefined
  readonly list: Liveness | undefined
}

/**
 * The store removes a record only when its retention is over, and a worker from the list only some time after its death. So the
 * newest record and the listed workers are still there at the next look, also that of a process without heartbeats. Resolves
 * after the first look, to a function that ends the check.
 */
export async function watchEmptied(
  { tables, statements, rows, ask }: SqlEngine,
  { dedupeMs }: Retention,
  report: (error: MessagingWebhooksError) => void,
): Promise<() => void> {
  let seen: Seen | undefined

  /** The tables that were emptied since the last look. */
  async function look(): Promise<readonly string[]> {
    const before = seen
    const [row] = await ask(statements.kept, [before?.newest ?? '0'])
    if (row === undefined) return []
    const nowMs = rows.integer(row, 'now')
    seen = {
      nowMs,
      newest: isNull(row, 'newest') ? undefined : rows.digits(row, 'newest'),
      list: isNull(row, 'version') ? undefined : readLiveness(rows.text(row, 'list')),
    }
    if (before === undefined) return []
    const isPrunable =
      before.newest === undefined || BigInt(before.newest) < BigInt(leastNumberAt(nowMs - dedupeMs + MARGIN_MS))
    return [
      ...(rows.integer(row, 'records') === 0 && !isPrunable ? [tables.records] : []),
      ...(isGone(before.list, seen.list, nowMs - before.nowMs) ? [tables.workers] : []),
    ]
  }

  // If the server is unavailable, the operations report it.
  await look().catch(() => {})
  return watch(LOOK_EVERY_MS, look, (emptied) => {
    if (emptied.length === 0) return
    report(new MessagingWebhooksError('store_emptied', `Stored rows are gone from ${emptied.join(' and ')}.`))
  })
}
