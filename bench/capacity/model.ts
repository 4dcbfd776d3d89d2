/**
 * The model behind `bench:capacity`: a day of arrivals, and a queue that is served second by second while the store is available.
 * No clock, no server, no randomness.
 */

export const DAY_SECONDS = 86_400
/** The curve is at its highest at noon. */
export const PEAK_SECOND = DAY_SECONDS / 2

export interface Curve {
  readonly perDay: number
  /** The rate at noon, relative to the mean of the day; 1 is a flat curve. */
  readonly peakToMean: number
  /** This share of the day's callbacks arrives evenly within these minutes from noon on. */
  readonly burst?: { readonly share: number; readonly minutes: number } | undefined
}

/**
 * Callbacks a second by the second of the day. A sinusoid that never falls below 0 has a peak of at most twice its mean, so it is
 * raised to the power that gives the ratio.
 */
export function arrivalsOf({ perDay, peakToMean, burst }: Curve): (second: number) => number {
  const mean = (perDay * (1 - (burst?.share ?? 0))) / DAY_SECONDS
  const power = powerFor(peakToMean)
  const burstSeconds = (burst?.minutes ?? 0) * 60
  const burstRate = burst === undefined ? 0 : (perDay * burst.share) / burstSeconds
  return (second) => {
    const sinceNoon = (second % DAY_SECONDS) - PEAK_SECOND
    const isInBurst = sinceNoon >= 0 && sinceNoon < burstSeconds
    return mean * peakToMean * sinusoid(sinceNoon / DAY_SECONDS) ** power + (isInBurst ? burstRate : 0)
  }
}

/** 1 at noon, 0 at midnight. */
const sinusoid = (dayShare: number): number => (1 + Math.cos(2 * Math.PI * dayShare)) / 2

/** By bisection: a higher power makes the peak narrower. */
function powerFor(peakToMean: number): number {
  const SAMPLES = 1_440
  const HALVINGS = 60
  const meanOf = (power: number): number =>
    Array.from({ length: SAMPLES }, (_, at) => sinusoid(at / SAMPLES) ** power).reduce((sum, each) => sum + each, 0) /
    SAMPLES
  let [low, high] = [0, 1_000]
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const middle = (low + high) / 2
    if (1 / meanOf(middle) < peakToMean) low = middle
    else high = middle
  }
  return low
}

/** Callbacks so far; arrived = handled + refused + waiting + spooled. */
export interface Queue {
  readonly arrived: number
  readonly handled: number
  readonly refused: number
  /** In the store, not handled yet. */
  readonly waiting: number
  /** In the spools. */
  readonly spooled: number
}

export const EMPTY: Queue = { arrived: 0, handled: 0, refused: 0, waiting: 0, spooled: 0 }

interface Second {
  readonly arrivals: number
  /** Callbacks that the store and the receivers accept and handle. */
  readonly capacity: number
  readonly isStoreUp: boolean
  /** Callbacks that the spools hold; 0 without spools. */
  readonly spoolLimit: number
}

/**
 * The next second. The store serves what waits in it, then the spools, then new callbacks, which wait behind the spools while these
 * are not empty.
 */
export function advance(queue: Queue, { arrivals, capacity, isStoreUp, spoolLimit }: Second): Queue {
  const serves = isStoreUp ? capacity : 0
  const ofWaiting = Math.min(queue.waiting, serves)
  const ofSpooled = Math.min(queue.spooled, serves - ofWaiting)
  const ofArrivals = Math.min(arrivals, serves - ofWaiting - ofSpooled)
  const [left, spooled] = [arrivals - ofArrivals, queue.spooled - ofSpooled]
  const goesToSpool = !isStoreUp || spooled > 0
  const toSpool = goesToSpool ? Math.min(left, Math.max(0, spoolLimit - spooled)) : 0
  return {
    arrived: queue.arrived + arrivals,
    handled: queue.handled + ofWaiting + ofSpooled + ofArrivals,
    refused: queue.refused + (goesToSpool ? left - toSpool : 0),
    waiting: queue.waiting - ofWaiting + (goesToSpool ? 0 : left),
    spooled: spooled + toSpool,
  }
}

interface Outage {
  /** The second of the first day. */
  readonly from: number
  readonly seconds: number
}

/** Half of it before the peak. */
export function outageAtPeak(seconds: number): Outage {
  return { from: PEAK_SECOND - seconds / 2, seconds }
}

export interface Result {
  readonly end: Queue
  /** In the spools at the end of the outage. */
  readonly spooledAtEnd: number
  readonly mostBacklog: number
  /** From the end of the outage until nothing waits; undefined if that takes longer than the simulated days. */
  readonly drainSeconds: number | undefined
}

export function simulate(options: {
  readonly arrivals: (second: number) => number
  readonly capacity: number
  readonly outage: Outage
  readonly spoolLimit: number
  readonly days: number
}): Result {
  const { arrivals, capacity, outage, spoolLimit, days } = options
  const back = outage.from + outage.seconds
  let queue = EMPTY
  let [spooledAtEnd, mostBacklog] = [0, 0]
  let drainSeconds: number | undefined
  for (let second = 0; second < days * DAY_SECONDS; second += 1) {
    const isStoreUp = second < outage.from || second >= back
    queue = advance(queue, { arrivals: arrivals(second), capacity, isStoreUp, spoolLimit })
    const backlog = queue.waiting + queue.spooled
    mostBacklog = Math.max(mostBacklog, backlog)
    if (second === back - 1) spooledAtEnd = queue.spooled
    if (second >= back && backlog === 0) drainSeconds ??= second + 1 - back
  }
  return { end: queue, spooledAtEnd, mostBacklog, drainSeconds }
}

/** Cores at this share of their time. */
export function coresFor(perSecond: number, cpuUs: number, busyShare: number): number {
  return (perSecond * cpuUs) / 1e6 / busyShare
}
