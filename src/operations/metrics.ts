/** Renders counts, histograms and current values as Prometheus text. */
import type { Progress } from '../dispatch/claim-loop.ts'
import type { Meter } from '../dispatch/work.ts'
import { exposed } from './exposition.ts'
import { createMeter } from './meter.ts'
import { METRICS, type Reading, type Sources } from './metric-table.ts'

interface MetricsOptions extends Sources {
  readonly dispatcher: Sources['dispatcher'] & {
    /** Called at the first scrape. */
    measure(meter: Meter): void
    progress(): Progress
  }
  readonly inbox: Sources['inbox'] & { known(): Promise<Reading['stored']> }
  /** A closed receiver no longer queries its store. */
  readonly isClosed: () => boolean
}

/** Measures only from the first scrape on, so that apps without metrics read no clock. */
export function createMetrics(options: MetricsOptions): () => Promise<string> {
  const { dispatcher, inbox, isClosed } = options
  let meter: ReturnType<typeof createMeter> | undefined

  return async () => {
    if (meter === undefined) {
      meter = createMeter()
      dispatcher.measure(meter)
    }
    const stored = isClosed() ? undefined : await inbox.known()
    const reading: Reading = { ...options, dispatcher, inbox, meter, stored, progress: dispatcher.progress() }
    return Object.entries(METRICS)
      .map(([name, [type, , help, read]]) => {
        const value = read(reading) ?? []
        return exposed(name, type, help, typeof value === 'number' ? [{ value }] : value)
      })
      .join('')
  }
}
