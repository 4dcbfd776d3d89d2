/** What each process looks at again and again: whether something is due that others have accepted, and whether a server was emptied. */
import { randomBytes } from 'node:crypto'
import { withDeadline, type Clock } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Adapter } from './clients/connection.ts'
import { ask, type Engine } from './engine.ts'
import type { Group } from './partitions.ts'
import { cleanError } from './replies.ts'

/** How often a server is asked whether it was emptied. */
const LOOK_EVERY_MS = 1_000
/** Opening waits so long for the first look: a server of a cluster may be unavailable. */
const BEGIN_MS = 1_000
const MARK = 'mark'

interface WakeUpOptions {
  readonly clock: Clock
  readonly channel: string
  readonly subscriber: Adapter | undefined
  readonly pollIntervalMs: number
  readonly commandTimeoutMs: number
  readonly isDue: () => Promise<boolean>
  readonly onWork: () => void
}

/**
 * Learns of work that other processes accepted: from a channel where the user gave a client for it, and by looking. Returns the function
 * that ends it. Rejects where the channel cannot be listened to in time.
 */
export async function wakeUp(options: WakeUpOptions): Promise<() => Promise<void>> {
  const { clock, channel, subscriber, pollIntervalMs, commandTimeoutMs, isDue, onWork } = options
  let ended = false
  const unsubscribe = subscriber && (await listen(subscriber))

  async function listen(to: Adapter): Promise<() => Promise<void>> {
    try {
      return await withDeadline(clock, commandTimeoutMs, to.subscribe(channel, onWork), () => {
        throw new MessagingWebhooksError('store_slow', 'The client that listens did not subscribe in time.')
      })
    } catch (error) {
      throw cleanError(error)
    }
  }

  async function look(): Promise<void> {
    try {
      if ((await isDue()) && !ended) onWork()
    } catch {
      // The server is unavailable; the verbs say so.
    }
    lookLater()
  }

  function lookLater(): void {
    if (!ended) clock.setTimer(() => void look(), pollIntervalMs)
  }

  lookLater()
  return async () => {
    ended = true
    // A connection that is gone listens no more.
    await unsubscribe?.().catch(() => {})
  }
}

interface EmptiedOptions {
  readonly engine: Engine
  readonly clock: Clock
  /** Enters anew what was entered when the store was opened. */
  readonly restoreLayout: () => Promise<unknown>
}

interface EmptiedWatch {
  begin(): Promise<void>
  end(): void
}

/**
 * Notices that the server was emptied (FLUSHALL, a restart without persistence): each group of partitions has a mark, which nobody
 * deletes. A process that finds it gone makes another one, by which the other processes notice.
 */
export function createEmptiedWatch({ engine, clock, restoreLayout }: EmptiedOptions): EmptiedWatch {
  const { partitions, report } = engine
  const marks = new Map<Group, string>()
  let cancelLook = (): void => {}
  let ended = false

  /** How many partitions of the group were emptied since the last look. */
  async function emptiedIn(group: Group): Promise<number> {
    const [home] = group
    await ask(engine, home, ['SET', MARK, randomBytes(8).toString('hex'), 'NX'])
    const found = await ask(engine, home, ['GET', MARK])
    const known = marks.get(group)
    const mark = Buffer.isBuffer(found) ? found.toString() : ''
    marks.set(group, mark)
    return known === undefined || known === mark ? 0 : group.length
  }

  async function look(): Promise<void> {
    // Where a server does not answer, the verbs say so. A key of another type was not written by a process that found none.
    const counts = await Promise.all(partitions.groups.map((group) => emptiedIn(group).catch(() => 0)))
    if (ended) return
    cancelLook = clock.setTimer(() => void look(), LOOK_EVERY_MS)
    const emptied = counts.reduce((sum, count) => sum + count, 0)
    if (emptied === 0) return
    await restoreLayout().catch(() => {})
    report(new MessagingWebhooksError('store_emptied', `It held ${emptied} of ${partitions.all.length} partitions.`))
  }

  return {
    begin: () => withDeadline(clock, BEGIN_MS, look(), () => undefined),
    end() {
      ended = true
      cancelLook()
    },
  }
}
