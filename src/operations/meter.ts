/** Measures attempts, settlements and store calls in histograms. Created when metrics are first read. */
import { monotonicMs } from '../runtime/clock.ts'
import type { MeasuredCall, Meter } from '../dispatch/work.ts'
import type { EventType } from '../public/events.ts'
import type { Awaitable } from '../inbox/store.ts'

export interface Histogram {
  observe(value: number): void
  readonly bounds: readonly number[]
  /** Values between each bound and the previous one; the last element counts those above every bound. */
  readonly counts: readonly number[]
  readonly sum: number
}

/** `bounds` must ascend. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0)
  const histogram = {
    bounds,
    counts,
    sum: 0,
    observe(value: number) {
      let at = 0
      while (at < bounds.length && value > (bounds[at] ?? Infinity)) at += 1
      counts[at] = (counts[at] ?? 0) + 1
      histogram.sum += value
    },
  }
  return histogram
}

/** The value for one set of labels. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number | Histogram
}

const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const SETTLED_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 21_600]
const STORE_SECONDS = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]

const CALLS = ['admit', 'claim', 'settle'] as const satisfies readonly MeasuredCall[]

export function createMeter() {
  const attempts = new Map<EventType, Map<string, Histogram>>()
  const settled = { done: createHistogram(SETTLED_SECONDS), dead: createHistogram(SETTLED_SECONDS) }
  const calls = new Map(CALLS.map((name) => [name, { took: createHistogram(STORE_SECONDS), failures: 0 }]))

  function called(verb: MeasuredCall, beganMs: number, hasFailed: boolean): void {
    const call = calls.get(verb)
    if (call === undefined) return
    call.took.observe((monotonicMs() - beganMs) / 1_000)
    if (hasFailed) call.failures += 1
  }

  function timed<T>(verb: MeasuredCall, call: () => Awaitable<T>): Awaitable<T> {
    const beganMs = monotonicMs()
    try {
      const answer = call()
      if (answer instanceof Promise)
        answer.then(
          () => called(verb, beganMs, false),
          () => called(verb, beganMs, true),
        )
      else called(verb, beganMs, false)
      return answer
    } catch (error) {
      called(verb, beganMs, true)
      throw error
    }
  }

  const meter: Meter = {
    attempted(type, outcome, tookMs) {
      const ofType = attempts.get(type) ?? new Map<string, Histogram>()
      attempts.set(type, ofType)
      const histogram = ofType.get(outcome) ?? createHistogram(ATTEMPT_SECONDS)
      ofType.set(outcome, histogram)
      histogram.observe(Math.max(0, tookMs) / 1_000)
    },
    settled(outcome, sinceArrivalMs) {
      settled[outcome].observe(Math.max(0, sinceArrivalMs) / 1_000)
    },
    timed,
  }

  return {
    ...meter,
    attempts: (): readonly Sample[] =>
      [...attempts].flatMap(([type, outcomes]) =>
        Array.from(outcomes, ([outcome, value]) => ({ labels: { type, outcome }, value })),
      ),
    settledTimes: (): readonly Sample[] =>
      Object.entries(settled).map(([outcome, value]) => ({ labels: { outcome }, value })),
    storeCalls: (): readonly Sample[] => Array.from(calls, ([verb, { took }]) => ({ labels: { verb }, value: took })),
    storeFailures: (): readonly Sample[] =>
      Array.from(calls, ([verb, { failures }]) => ({ labels: { verb }, value: failures })),
  }
}
