/** Measures one step in a process of its own, in which no other step has shaped the compiled code. */
import { getHeapStatistics } from 'node:v8'
import { do_not_optimize, measure } from 'mitata'
import { answerQuestions } from '../processes/asking.ts'
import { STEPS } from './table.ts'

export interface StepResult {
  readonly microseconds: number
  readonly p99Microseconds: number
  /** Bytes of heap per call. */
  readonly bytes: number
}

answerQuestions(async (asked): Promise<StepResult> => {
  // Only the program `micro` asks, with names from the table.
  const { step, minCpuMs } = asked as { readonly step: keyof typeof STEPS; readonly minCpuMs: number }
  const run = STEPS[step].prepare()
  const first = run()
  const isAsync = first instanceof Promise
  // Two questions at once would count each other's work.
  await first
  const { p50, p99, heap } = await measure(
    isAsync
      ? async () => {
          await run()
        }
      : () => {
          do_not_optimize(run())
        },
    { heap: () => getHeapStatistics().used_heap_size, min_cpu_time: minCpuMs * 1e6, inner_gc: false },
  )
  return { microseconds: p50 / 1_000, p99Microseconds: p99 / 1_000, bytes: heap?.avg ?? NaN }
})
