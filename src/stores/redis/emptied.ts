/**
 * Notices that the server was emptied (FLUSHALL, a restart without persistence): each group of partitions has a mark, which
 * nobody deletes. It is looked at every second, and whoever finds it gone makes another one, by which the other processes notice.
 */
import { withDeadline, type Clock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { text } from './replies.ts'
import { script } from './scripted.ts'
import { PRELUDE } from './scripts/prelude.ts'

const LOOK_EVERY_MS = 1_000
/** Opening waits so long for the first look: a server of a cluster may be unavailable. */
const BEGIN_MS = 1_000

interface EmptiedOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly report: (error: MessagingWebhooksError) => void
  /** Enters anew what was entered when the store was opened. */
  readonly restoreLayout: () => Promise<unknown>
}

interface EmptiedWatch {
  begin(): Promise<void>
  end(): void
}

export function createEmptiedWatch({ engine, clock, report, restoreLayout }: EmptiedOptions): EmptiedWatch {
  const { redis, partitions, nextCall } = engine
  /** The mark of each group that has been looked at, by its first key. */
  const marks = new Map<string, string>()
  let cancelLook = (): void => {}
  let ended = false

  /** How many partitions of the group were emptied since the last look. */
  async function emptiedIn(group: Keys): Promise<number> {
    const [home] = group
    const known = marks.get(home)
    const mark = text(await redis.run(markScript, [home], ['', known ?? '', nextCall()]))
    marks.set(home, mark)
    return known === undefined || known === mark ? 0 : group.length
  }

  async function look(): Promise<void> {
    // Where a server does not answer, the verbs say so.
    const counts = await Promise.all(partitions.groups.map((group) => emptiedIn(group).catch(() => 0)))
    if (ended) return
    cancelLook = clock.setTimer(() => void look(), LOOK_EVERY_MS)
    const emptied = counts.reduce((sum, count) => sum + count, 0)
    if (emptied === 0) return
    await restoreLayout().catch(() => {})
    report(
      new MessagingWebhooksError('store_emptied', `It held ${emptied} of ${partitions.dueKeys.length} partitions.`),
    )
  }

  return {
    begin: () => withDeadline(clock, BEGIN_MS, look(), () => undefined),
    end() {
      ended = true
      cancelLook()
    },
  }
}

/**
 * Reads the mark of a group, and makes one where there is none. KEYS: the first due set of the group. ARGV: now, the mark that
 * was read last or empty, and a new one. Returns the mark.
 */
const markScript = script(/* lua */ `
${PRELUDE}
local key = base .. 'mark'
local mark = redis.pcall('GET', key)
if type(mark) == 'string' then return mark end
-- A key of another type says that somebody has spoilt it, not that the server was emptied.
mark = type(mark) == 'table' and ARGV[2] ~= '' and ARGV[2] or ARGV[3]
-- A write that is allowed where memory is full.
redis.call('UNLINK', key)
redis.call('SET', key, mark)
return mark
`)
