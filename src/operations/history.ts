/** Callbacks over time. Derived from existing counts, so the event path does no extra work. */
import type { Clock } from '../runtime/clock.ts'
import { recordOf } from '../runtime/values.ts'
import type { DetailedCounts } from './counts.ts'
import type { Watcher } from './recent.ts'

const BUCKET_SECONDS = 20
/** Buckets per bar of the day's chart. */
const WIDE = 24
const BUCKETS = { '15m': 45, '1h': 180, '24h': 4_320 } as const

const SERIES = ['new', 'duplicate', 'late', 'refused', 'failed', 'attempts'] as const

export type Range = keyof typeof BUCKETS
export type History = ReturnType<typeof createHistory>

export function createHistory(clock: Clock, counts: DetailedCounts, watched: Watcher['counts']) {
  const sinceMs = clock.now()
  /** Totals at the start of each bucket of the last day. The first bucket of a wide bar is at a multiple of `WIDE`. */
  const begins = [totals()]
  let cancel = clock.setTimer(turn, BUCKET_SECONDS * 1_000)

  function totals() {
    const { attempts, failures: failed } = watched
    const sum = { new: 0, duplicate: 0, late: 0, refused: 0 }
    for (const kind of Object.values(counts.kinds)) {
      sum.new += kind.new
      sum.duplicate += kind.duplicate
      sum.late += kind.late
      for (const count of Object.values(kind.refused)) sum.refused += count
    }
    return { at: new Date(clock.now()), attempts, failed, ...sum }
  }

  function turn(): void {
    begins.push(totals())
    if (begins.length > BUCKETS['24h']) begins.splice(0, WIDE)
    cancel = clock.setTimer(turn, BUCKET_SECONDS * 1_000)
  }

  return {
    sinceMs,
    /** One bucket per `bucketSeconds`, oldest first, at most 181. */
    plot(range: Range) {
      const step = range === '24h' ? WIDE : 1
      const ends = [...begins.filter((_, index) => index % step === 0), totals()]
      const buckets = ends.slice(1).map((end, index) => {
        const begin = ends[index] ?? end
        return { at: begin.at, ...recordOf(SERIES, (name) => end[name] - begin[name]) }
      })
      return { range, bucketSeconds: BUCKET_SECONDS * step, buckets: buckets.slice(-BUCKETS[range]) }
    },
    stop: () => cancel(),
  }
}
