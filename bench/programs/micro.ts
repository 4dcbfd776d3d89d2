/** How long does each step of the pipeline take by itself, and how much does it allocate? */
import { STEPS } from '../micro/table.ts'
import type { StepResult } from '../micro/process.ts'
import { ask } from '../processes/asking.ts'
import { CORES, startPinned } from '../processes/pinned.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'

const MIN_CPU_MS = 1_000
const QUICK_CPU_MS = 50

export async function runMicro({ only, quick }: Settings): Promise<Report> {
  const steps = Object.entries(STEPS).filter(([name]) => only?.includes(name) ?? true)
  if (steps.length === 0) throw new Error(`Unknown step. Use one of: ${Object.keys(STEPS).join(', ')}.`)
  const measured: (StepResult & { readonly step: string })[] = []
  for (const [step] of steps) {
    const child = startPinned(new URL('../micro/process.ts', import.meta.url), [], CORES.server)
    const result = await ask<StepResult>(child, { step, minCpuMs: quick ? QUICK_CPU_MS : MIN_CPU_MS })
    child.disconnect()
    measured.push({ step, ...result })
  }
  return {
    title: 'The steps by themselves',
    notes: [
      'In a loop over a thousand distinct callbacks of about 300 bytes; caches are warmer here than in a server.',
    ],
    tables: [
      {
        head: ['step', 'µs', 'p99 µs', 'bytes', 'what'],
        rows: measured.map(({ step, microseconds, p99Microseconds, bytes }, index) => [
          step,
          microseconds.toFixed(2),
          p99Microseconds.toFixed(2),
          bytes.toFixed(0),
          steps[index]?.[1].what ?? '',
        ]),
      },
    ],
    data: measured,
  }
}
