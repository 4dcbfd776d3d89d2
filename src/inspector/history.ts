/** What came over time, from counts that are kept anyway: nothing is done for it on an event's way. And what went wrong. */
import type { Clock } from '../clock.ts'
import type { DetailedCounts } from '../counts.ts'
import type { MessagingWebhooksError } from '../errors.ts'
import type { Overview } from './shapes.ts'

const BUCKET_SECONDS = 20
/** An hour. */
const MOST_BUCKETS = 180
const MOST_TROUBLES = 50

type Bucket = Overview['plot']['buckets'][number]
type Totals = Omit<Bucket, 'at'>

export interface History {
  readonly sinceMs: number
  plot(): Overview['plot']
  trouble(): Overview['trouble']
  /** Hears what the receiver reports. */
  troubled(error: MessagingWebhooksError): void
  stop(): void
}

/** `failures`: attempts that have failed so far. */
export function createHistory(clock: Clock, counts: DetailedCounts, failures: () => number): History {
  const sinceMs = clock.now()
  const buckets: Bucket[] = []
  const troubles = new Map<string, { readonly atMs: number; readonly message: string; readonly count: number }>()
  let beganMs = sinceMs
  let before = totalsOf(counts, failures())
  let cancel = clock.setTimer(turn, BUCKET_SECONDS * 1_000)

  function current(): Bucket {
    const now = totalsOf(counts, failures())
    return {
      at: new Date(beganMs).toISOString(),
      new: now.new - before.new,
      duplicate: now.duplicate - before.duplicate,
      late: now.late - before.late,
      refused: now.refused - before.refused,
      failed: now.failed - before.failed,
    }
  }

  function turn(): void {
    buckets.push(current())
    if (buckets.length >= MOST_BUCKETS) buckets.shift()
    before = totalsOf(counts, failures())
    beganMs = clock.now()
    cancel = clock.setTimer(turn, BUCKET_SECONDS * 1_000)
  }

  return {
    sinceMs,
    plot: () => ({ bucketSeconds: BUCKET_SECONDS, buckets: [...buckets, current()] }),
    trouble: () =>
      [...troubles]
        .map(([code, { atMs, message, count }]) => ({ at: new Date(atMs).toISOString(), code, message, count }))
        .reverse(),
    troubled({ code, message }) {
      const count = (troubles.get(code)?.count ?? 0) + 1
      // The newest stands last.
      troubles.delete(code)
      troubles.set(code, { atMs: clock.now(), message, count })
      const [oldest] = troubles.keys()
      if (troubles.size > MOST_TROUBLES && oldest !== undefined) troubles.delete(oldest)
    },
    stop: () => cancel(),
  }
}

function totalsOf({ kinds }: DetailedCounts, failed: number): Totals {
  const totals = { new: 0, duplicate: 0, late: 0, refused: 0, failed }
  for (const { new: taken, duplicate, late, refused } of Object.values(kinds)) {
    totals.new += taken
    totals.duplicate += duplicate
    totals.late += late
    for (const count of Object.values(refused)) totals.refused += count
  }
  return totals
}
