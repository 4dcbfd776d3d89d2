/** Reads sorted sets by score: of one partition, or a page over all. */
import type { SendScan } from '../engine.ts'
import { answered } from '../workers.ts'
import { ask, type Engine } from './engine.ts'
import type { Partition } from './partitions.ts'
import { scored, type Scored } from './replies.ts'
import type { Command } from './writing.ts'

/** Members of a sorted set of a partition, by score. `range`: a command with its bounds, in Redis syntax. */
export async function membersOf(
  engine: Engine,
  partition: Partition,
  range: Command,
  limit: number,
): Promise<readonly Scored[]> {
  return scored(await ask(engine, partition, [...range, 'WITHSCORES', 'LIMIT', '0', String(limit)]))
}

export const OLDEST_FIRST = { after: undefined, newestFirst: false, fromMs: -Infinity, toMs: Infinity }

/** Members of a sorted set over all partitions, by score and member: those after `after`, one more than a page. */
export async function pageOfSet(engine: Engine, set: string, { after, limit, newestFirst, fromMs, toMs }: SendScan) {
  const [, time, last = ''] = /^(-?\d+)\.(.*)$/s.exec(after ?? '') ?? []
  const least = newestFirst ? boundOf(fromMs) : (time ?? boundOf(fromMs))
  const most = newestFirst && time !== undefined ? time : `(${boundOf(toMs)}`
  const range = newestFirst
    ? (['ZREVRANGEBYSCORE', set, most, least] as const)
    : (['ZRANGEBYSCORE', set, least, most] as const)
  const isAhead = ({ score, member }: Scored): boolean => {
    if (time === undefined || score !== Number(time)) return true
    return newestFirst ? member < last : member > last
  }
  const found = await answered(
    engine.partitions.all.map(async (partition) => {
      // Members with the same time as the end of the last page may have been on that page.
      for (let count = limit + 1; ; count *= 2) {
        const members = await membersOf(engine, partition, range, count)
        const ahead = members.filter(isAhead).map((one) => ({ ...one, partition }))
        if (ahead.length > limit || members.length < count) return ahead.slice(0, limit + 1)
      }
    }),
  )
  const sign = newestFirst ? -1 : 1
  return found
    .flat()
    .sort((a, b) => sign * (a.score - b.score || (a.member < b.member ? -1 : 1)))
    .slice(0, limit + 1)
}

export function placeOf({ score, member }: Scored): string {
  return `${score}.${member}`
}

/** A bound of a range in Redis syntax. */
function boundOf(ms: number): string {
  return Number.isFinite(ms) ? String(Math.ceil(ms)) : ms < 0 ? '-inf' : '+inf'
}
