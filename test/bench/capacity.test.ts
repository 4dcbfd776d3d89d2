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

test('without capacity the backlog grows by the arrivals of each second', () => {
  let queue = EMPTY
  for (let second = 1; second <= 100; second += 1) {
    queue = advance(queue, { arrivals: 30, capacity: 0, isStoreUp: true, spoolLimit: 0 })
    expect(queue).toEqual({ arrived: 30 * second, handled: 0, refused: 0, waiting: 30 * second, spooled: 0 })
  }
})

test('new callbacks wait behind the spools until these are empty', () => {
  const down = { arrivals: 10, capacity: 15, isStoreUp: false, spoolLimit: 100 }
  const first = advance(EMPTY, down)
  expect(first).toMatchObject({ handled: 0, spooled: 10, waiting: 0 })
  const second = advance(first, { ...down, isStoreUp: true, capacity: 5 })
  expect(second).toMatchObject({ handled: 5, spooled: 15, waiting: 0 })
  const third = advance(second, { ...down, isStoreUp: true })
  expect(third).toMatchObject({ handled: 20, spooled: 0, waiting: 10 })
})

test('what waits in the store goes before the spools', () => {
  const queue: Queue = { arrived: 20, handled: 0, refused: 0, waiting: 10, spooled: 10 }
  const next = advance(queue, { arrivals: 3, capacity: 15, isStoreUp: true, spoolLimit: 100 })
  expect(next).toEqual({ arrived: 23, handled: 15, refused: 0, waiting: 0, spooled: 8 })
})

test('full spools and missing spools refuse callbacks', () => {
  const down = { arrivals: 60, capacity: 100, isStoreUp: false, spoolLimit: 100 }
  expect(advance(advance(EMPTY, down), down)).toMatchObject({ spooled: 100, refused: 20 })
  expect(advance(EMPTY, { ...down, spoolLimit: 0 })).toMatchObject({ spooled: 0, refused: 60 })
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
