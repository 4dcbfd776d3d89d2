/** Where the callers' clocks count: remembers, for the next start, how late it was, for theirs may be set back. */
import { stateDamaged, type Report } from './damage.ts'
import type { Engine } from './engine.ts'
import { integer, truth } from './row.ts'
import { FIND_LATEST_TIME } from './statements/find-latest-time.ts'
import { TELL_TIME } from './statements/tell-time.ts'

/** So that not every call is two. */
const TELL_EVERY_MS = 1_000

export interface ToldTime {
  /** What was told before this opening. */
  readonly atOpening: number | undefined
  tell(nowMs: number): Promise<void>
}

/** A server's clock is not set back with a process's, so there is nothing to remember. */
const NOTHING: ToldTime = { atOpening: undefined, tell: () => Promise.resolve() }

export async function readLatestTime(
  { connections, sql }: Engine,
  clock: 'server' | 'caller',
  report: Report,
): Promise<ToldTime> {
  if (clock === 'server') return NOTHING
  const tellTime = sql(TELL_TIME)
  const [row] = await connections.query(sql(FIND_LATEST_TIME))
  if (row === undefined || !truth(row, 'sound')) report(stateDamaged('latest_time.told'))
  let told = row === undefined ? 0 : integer(row, 'told')
  return {
    atOpening: told === 0 ? undefined : told,
    async tell(nowMs) {
      if (nowMs < told + TELL_EVERY_MS) return
      told = nowMs
      await connections.query(tellTime, [Math.floor(nowMs)])
    },
  }
}
