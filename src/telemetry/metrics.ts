/** What a receiver tells Prometheus: its counts, its histograms and how it is now, as text. */
import { COUNTED_CARRIERS, COUNTED_KINDS, type DetailedCounts } from '../counts.ts'
import type { Meter } from '../dispatch/state.ts'
import { EVENT_TYPES, REPORT_TYPES } from '../events.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { QuarantineCounts } from '../quarantine/surface.ts'
import { exposed, type Sample } from './exposition.ts'
import { createMeter } from './meter.ts'
import { METRICS, type MetricName } from './metric-table.ts'

/** What is asked at each reading; undefined is what nobody knows now. */
interface Sources {
  readonly counts: DetailedCounts
  /** From the first reading on. */
  readonly measure: (meter: Meter) => void
  /** The gauges without labels, and the counters that others keep. */
  readonly now: () => Promise<Readonly<Partial<Record<MetricName, number | undefined>>>>
  readonly quarantined: () => QuarantineCounts
}

const OF_REPORTS: readonly string[] = [...REPORT_TYPES, 'late']

/** What measures is made at the first reading, so that whoever reads no metrics pays for no clock. */
export function createMetrics({ counts, measure, now, quarantined }: Sources): () => Promise<string> {
  let meter: ReturnType<typeof createMeter> | undefined

  function begun(): ReturnType<typeof createMeter> {
    const made = createMeter()
    measure(made)
    return made
  }

  return async () => {
    meter ??= begun()
    const values = await now()
    const inQuarantine = quarantined()
    const samples: Partial<Record<MetricName, readonly Sample[]>> = {
      messaging_webhooks_callbacks_total: callbacks(counts),
      messaging_webhooks_events_total: events(counts),
      messaging_webhooks_attempt_duration_seconds: meter.attempts(),
      messaging_webhooks_settled_seconds: meter.settledTimes(),
      messaging_webhooks_store_call_duration_seconds: meter.storeCalls(),
      messaging_webhooks_store_call_failures_total: meter.storeFailures(),
      messaging_webhooks_quarantined: QUARANTINE_CLASSES.map((name) => ({
        labels: { class: name },
        value: inQuarantine[name],
      })),
    }
    return METRIC_NAMES.map((name) => {
      const [type, , help] = METRICS[name]
      const value = values[name]
      return exposed(name, type, help, samples[name] ?? (value === undefined ? [] : [{ value }]))
    }).join('')
  }
}

// A table that is written out has no other keys than its own.
const METRIC_NAMES = Object.keys(METRICS) as MetricName[]

/** Zeros, too, of every kind that is mounted: what rises from nothing would not be seen to rise. */
function callbacks({ kinds }: DetailedCounts): readonly Sample[] {
  return COUNTED_KINDS.filter((kind) => kinds[kind].isUsed).flatMap((kind) => {
    const { new: taken, duplicate, late, refused } = kinds[kind]
    return [
      ...Object.entries({ new: taken, duplicate, late }).map(([outcome, value]) => ({
        labels: { kind, outcome, code: '' },
        value,
      })),
      ...Object.entries(refused).map(([code, value]) => ({ labels: { kind, outcome: 'refused', code }, value })),
    ]
  })
}

function events({ events: byType }: DetailedCounts): readonly Sample[] {
  return EVENT_TYPES.flatMap((type) =>
    COUNTED_CARRIERS.filter((carrier) => carrier === 'none' || OF_REPORTS.includes(type)).map((carrier) => ({
      labels: { type, carrier },
      value: byType[type][carrier],
    })),
  )
}
