/** Where the callers' clocks count: remembers, for the next start, how late it was, for theirs may be set back. */
import { MessagingWebhooksError } from '../../errors.ts'
import { integer, truth } from './encoding.ts'
import type { Engine } from './engine.ts'

/** The latest time that was told; 0 for none. What is a hundred years ahead of the server's was not told, and not sound. */
const FIND_LATEST_TIME = /* sql */ `
SELECT coalesce(max(told) FILTER (WHERE is_sound), 0) AS told, count(*) = 1 AND bool_and(is_sound) AS sound
FROM (SELECT told, told BETWEEN 0 AND {now} + 3155760000000 AS is_sound FROM {schema}.latest_time) AS times
`

/** It is so late, by a caller's clock ($1); another process may have seen a later time. */
const TELL_TIME = /* sql */ `
WITH told AS (
  UPDATE {schema}.latest_time
  SET told = CASE WHEN told > {now} + 3155760000000 THEN $1::bigint ELSE greatest(told, $1::bigint) END RETURNING 1
)
INSERT INTO {schema}.latest_time SELECT $1::bigint WHERE NOT EXISTS (SELECT FROM told)
`

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
  report: (error: MessagingWebhooksError) => void,
): Promise<ToldTime> {
  if (clock === 'server') return NOTHING
  const tellTime = sql(TELL_TIME)
  const [row] = await connections.query(sql(FIND_LATEST_TIME))
  if (row === undefined || !truth(row, 'sound'))
    report(new MessagingWebhooksError('state_damaged', 'It is latest_time.told.'))
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
