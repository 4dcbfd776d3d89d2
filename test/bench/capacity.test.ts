/** The capacity model: plain numbers, derived by hand. */
import { expect, test } from 'vitest'
import {
  advance,
  arrivalsOf,
  coresFor,
  DAY_SECONDS,
  EMPTY,
  outageAtPeak,
  PEAK_SECOND,
  simulate,
  type Queue,
} from '../../bench/capacity/model.ts'

const HOUR_AT_PEAK = outageAtPeak(3_600)
const UNLIMITED = Number.POSITIVE_INFINITY

function sumOfDay(arrivals: (second: number) => number): number {
  let sum = 0
  for (let second = 0; second < DAY_SECONDS; second += 1) sum += arrivals(second)
  return sum
}

const accounted = ({ handled, refused, waiting, spooled }: Queue): number => handled + refused + waiting + spooled

test('a day has its callbacks, and the peak its ratio to the mean', () => {
  for (const peakToMean of [1, 2, 2.5, 6]) {
    const arrivals = arrivalsOf({ perDay: 8_640_000, peakToMean })
    expect(sumOfDay(arrivals)).toBeCloseTo(8_640_000, 0)
    expect(arrivals(PEAK_SECOND)).toBeCloseTo(100 * peakToMean, 6)
    expect(arrivals(PEAK_SECOND + 3 * DAY_SECONDS)).toBe(arrivals(PEAK_SECOND))
  }
})

test('a burst moves its share of the day into its minutes', () => {
  const arrivals = arrivalsOf({ perDay: 8_640_000, peakToMean: 1, burst: { share: 0.1, minutes: 10 } })
  expect(sumOfDay(arrivals)).toBeCloseTo(8_640_000, 0)
  expect(arrivals(PEAK_SECOND - 1)).toBeCloseTo(90, 6)
  expect(arrivals(PEAK_SECOND)).toBeCloseTo(90 + 1_440, 6)
  expect(arrivals(PEAK_SECOND + 600)).toBeCloseTo(90, 6)
})

test('every callback is handled, refused, waiting or spooled in each second', () => {
  const arrivals = arrivalsOf({ perDay: 1_000_000, peakToMean: 2.5, burst: { share: 0.2, minutes: 30 } })
  let queue = EMPTY
  let [arrived, mostWaiting] = [0, 0]
  for (let second = 0; second < DAY_SECONDS; second += 1) {
    const isStoreUp = second < 50_000 || second % 7_200 < 6_000
    queue = advance(queue, { arrivals: arrivals(second), capacity: 20, isStoreUp, spoolLimit: 50_000 })
    arrived += arrivals(second)
    mostWaiting = Math.max(mostWaiting, queue.waiting)
    expect(queue.arrived).toBe(arrived)
    expect(accounted(queue)).toBeCloseTo(arrived, 4)
  }
  // Every branch was taken.
  for (const count of [queue.handled, queue.refused, queue.spooled, mostWaiting]) expect(count).toBeGreaterThan(0)
})

const DOWN = { arrivals: 60, capacity: 100, isStoreUp: false, spoolLimit: 100 }
const UP = { arrivals: 10, capacity: 15, isStoreUp: true, spoolLimit: 100 }

test.each<readonly [what: string, from: Partial<Queue>, second: Parameters<typeof advance>[1], to: Partial<Queue>]>([
  ['without capacity the backlog grows', { waiting: 30 }, { ...UP, capacity: 0 }, { handled: 0, waiting: 40 }],
  ['while the store is down, spools fill', {}, { ...DOWN, arrivals: 10 }, { handled: 0, spooled: 10, waiting: 0 }],
  ['new callbacks wait behind the spools', { spooled: 10 }, { ...UP, capacity: 5 }, { handled: 5, spooled: 15 }],
  ['empty spools let new callbacks wait in the store', { spooled: 15 }, UP, { handled: 15, spooled: 0, waiting: 10 }],
  ['the store goes before the spools', { waiting: 10, spooled: 10 }, UP, { handled: 15, waiting: 0, spooled: 15 }],
  ['full spools refuse callbacks', { spooled: 60 }, DOWN, { spooled: 100, refused: 20 }],
  ['missing spools refuse callbacks', {}, { ...DOWN, spoolLimit: 0 }, { spooled: 0, refused: 60 }],
])('%s', (_, from, second, to) => {
  expect(advance({ ...EMPTY, ...from }, second)).toMatchObject(to)
})

test('on a flat curve the drain takes the arrivals of the outage, divided by the spare capacity', () => {
  // 3,600 s at 100 a second, with 50 a second to spare: 7,200 s.
  const arrivals = arrivalsOf({ perDay: 8_640_000, peakToMean: 1 })
  const flat = { arrivals, capacity: 150, outage: HOUR_AT_PEAK, spoolLimit: UNLIMITED, days: 1 }
  const result = simulate(flat)
  expect(result.spooledAtEnd).toBeCloseTo(360_000, 2)
  expect(result.mostBacklog).toBeCloseTo(360_000, 2)
  expect(Math.abs((result.drainSeconds ?? NaN) - 7_200)).toBeLessThanOrEqual(1)
  expect(result.end).toMatchObject({ refused: 0, waiting: 0, spooled: 0 })
  expect(simulate({ ...flat, capacity: 100, days: 3 }).drainSeconds).toBeUndefined()
})

test('after noon the curve falls, and the drain is shorter than on a flat curve of the peak rate', () => {
  const arrivals = arrivalsOf({ perDay: 1e9, peakToMean: 2.5 })
  const peak = arrivals(PEAK_SECOND)
  const result = simulate({ arrivals, capacity: peak / 0.7, outage: HOUR_AT_PEAK, spoolLimit: UNLIMITED, days: 2 })
  expect(result.drainSeconds).toBeGreaterThan(3_600)
  expect(result.drainSeconds).toBeLessThan((3_600 * peak) / (peak / 0.7 - peak))
})

test('cores are CPU time a second at their share', () => {
  // 7,000 a second at 100 µs are 0.7 s of CPU time a second.
  expect(coresFor(7_000, 100, 0.7)).toBeCloseTo(1, 9)
})
