/** Renders counts, histograms and current values as Prometheus text. */
import { COUNTED_CARRIERS, COUNTED_KINDS, type DetailedCounts } from './counts.ts'
import type { Progress } from '../dispatch/claim-loop.ts'
import type { Meter } from '../dispatch/work.ts'
import { EVENT_TYPES, REPORT_TYPES } from '../public/events.ts'
import type { StoreCounts } from '../inbox/store.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { QuarantineCounts } from '../quarantine/surface.ts'
import { exposed, type Sample } from './exposition.ts'
import { createMeter } from './meter.ts'
import { METRICS, type MetricName } from './metric-table.ts'

/** Read for each scrape. Undefined if currently unknown. */
interface Sources {
  readonly counts: DetailedCounts
  readonly unhandled: { readonly count: number }
  readonly dispatcher: {
    /** From the first scrape on. */
    measure(meter: Meter): void
    progress(): Progress
    readonly running: number
  }
  readonly inbox: {
    known(): Promise<(StoreCounts & { readonly holders: readonly unknown[] | undefined }) | undefined>
    readonly spooled: number
    readonly spoolBytes: number | undefined
  }
  readonly quarantined: () => QuarantineCounts
  readonly clockOffsetSeconds: () => number | undefined
  /** A closed receiver no longer queries its store. */
  readonly isClosed: () => boolean
}

const OF_REPORTS: readonly string[] = [...REPORT_TYPES, 'late']

/** Measures only from the first scrape on, so that apps without metrics read no clock. */
export function createMetrics(sources: Sources): () => Promise<string> {
  const { counts, dispatcher, quarantined } = sources
  let meter: ReturnType<typeof createMeter> | undefined

  function start(): ReturnType<typeof createMeter> {
    const made = createMeter()
    dispatcher.measure(made)
    return made
  }

  return async () => {
    meter ??= start()
    const inQuarantine = quarantined()
    const samples: Partial<Record<MetricName, readonly Sample[]>> = {
      ...(await gauges(sources)),
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
      return exposed(name, type, help, samples[name] ?? [])
    }).join('')
  }
}

/** Current values, and the counts of other parts. */
async function gauges(sources: Sources): Promise<Partial<Record<MetricName, readonly Sample[]>>> {
  const { unhandled, dispatcher, inbox, clockOffsetSeconds, isClosed } = sources
  const stored = isClosed() ? undefined : await inbox.known()
  const { hasBegun, oldestDueMs } = dispatcher.progress()
  const single = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [{ value }])
  return {
    messaging_webhooks_unhandled_total: single(unhandled.count),
    messaging_webhooks_store_up: single(stored === undefined ? 0 : 1),
    messaging_webhooks_unsettled: single(stored && stored.unsettled + inbox.spooled),
    messaging_webhooks_oldest_due_seconds: single(hasBegun ? oldestDueMs / 1_000 : undefined),
    messaging_webhooks_running: single(dispatcher.running),
    messaging_webhooks_dead_letters: single(stored?.deadLetters),
    messaging_webhooks_holders: single(stored?.holders?.length),
    messaging_webhooks_spool_events: single(inbox.spooled),
    messaging_webhooks_spool_bytes: single(inbox.spoolBytes),
    messaging_webhooks_clock_offset_seconds: single(clockOffsetSeconds()),
  }
}

// A literal table has no other keys.
const METRIC_NAMES = Object.keys(METRICS) as MetricName[]

/** Includes zeros for every mounted kind: Prometheus would miss an increase from a series that does not exist. */
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
