/** Every metric: its type, labels, help and value, rendered as Prometheus text. The reference page derives from the table. */
import type { Progress } from '../dispatch/claim-loop.ts'
import type { Meter } from '../dispatch/work.ts'
import { createMeter, type Histogram, type Sample } from './meter.ts'
import type { StoreCounts } from '../inbox/store.ts'
import { EVENT_TYPES, REPORT_TYPES } from '../public/events.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { QuarantineCounts } from '../quarantine/surface.ts'
import { COUNTED_CARRIERS, COUNTED_KINDS, type DetailedCounts } from './counts.ts'

interface MetricsOptions {
  readonly counts: DetailedCounts
  readonly unhandled: { readonly count: number }
  readonly dispatcher: {
    readonly running: number
    /** Called at the first scrape. */
    measure(meter: Meter): void
    progress(): Progress
  }
  readonly inbox: {
    readonly spooled: number
    readonly spoolBytes: number | undefined
    known(): Promise<Reading['stored']>
  }
  readonly quarantined: () => QuarantineCounts
  readonly clockOffsetSeconds: () => number | undefined
  /** A closed receiver no longer queries its store. */
  readonly isClosed: () => boolean
}

interface Reading extends MetricsOptions {
  readonly meter: ReturnType<typeof createMeter>
  readonly progress: Progress
  /** Undefined if currently unknown. */
  readonly stored: (StoreCounts & { readonly workers: readonly unknown[] | undefined }) | undefined
}

type Row = readonly [
  type: 'counter' | 'gauge' | 'histogram',
  labels: readonly string[],
  help: string,
  /** Undefined if currently unknown. */
  read: (reading: Reading) => number | readonly Sample[] | undefined,
]

const OF_REPORTS: readonly string[] = [...REPORT_TYPES, 'late']

export const METRICS = {
  messaging_webhooks_callbacks_total: [
    'counter',
    ['kind', 'outcome', 'code'],
    'Callbacks by the kind of their URL and by outcome: new, duplicate, late, or refused with the code of the error.',
    ({ counts }) => callbacks(counts),
  ],
  messaging_webhooks_events_total: [
    'counter',
    ['type', 'carrier'],
    'Accepted events without duplicates, by type and by the carrier of an SMS report.',
    ({ counts }) => events(counts),
  ],
  messaging_webhooks_unhandled_total: ['counter', [], 'Events without a handler.', ({ unhandled }) => unhandled.count],
  messaging_webhooks_attempt_duration_seconds: [
    'histogram',
    ['type', 'outcome'],
    'Duration of the handlers in an attempt: succeeded, failed or timed_out.',
    ({ meter }) => meter.attempts(),
  ],
  messaging_webhooks_settled_seconds: [
    'histogram',
    ['outcome'],
    'Time from the arrival of a callback to the end of its event: done, or dead for a dead letter.',
    ({ meter }) => meter.settledTimes(),
  ],
  messaging_webhooks_store_call_duration_seconds: [
    'histogram',
    ['verb'],
    'Duration of calls of the store by operation, including failed ones.',
    ({ meter }) => meter.storeCalls(),
  ],
  messaging_webhooks_store_call_failures_total: [
    'counter',
    ['verb'],
    'Failed calls of the store.',
    ({ meter }) => meter.storeFailures(),
  ],
  messaging_webhooks_store_up: [
    'gauge',
    [],
    '1 if the store reports its counts in time, 0 otherwise.',
    ({ stored }) => (stored === undefined ? 0 : 1),
  ],
  messaging_webhooks_unsettled: [
    'gauge',
    [],
    'Unsettled events in the store and the spool.',
    ({ stored, inbox }) => stored && stored.unsettled + inbox.spooled,
  ],
  messaging_webhooks_oldest_due_seconds: [
    'gauge',
    [],
    'How long the oldest due event that no process has leased has waited, according to the claims of this process.',
    ({ progress }) => (progress.hasBegun ? progress.oldestDueMs / 1_000 : undefined),
  ],
  messaging_webhooks_running: [
    'gauge',
    [],
    'Events in flight in this process: with running handlers, or waiting for a slot.',
    ({ dispatcher }) => dispatcher.running,
  ],
  messaging_webhooks_dead_letters: ['gauge', [], 'Dead letters in the store.', ({ stored }) => stored?.deadLetters],
  messaging_webhooks_workers: [
    'gauge',
    [],
    'Processes that have the store open.',
    ({ stored }) => stored?.workers?.length,
  ],
  messaging_webhooks_quarantined: [
    'gauge',
    ['class'],
    'Requests in quarantine, by class.',
    ({ quarantined }) => QUARANTINE_CLASSES.map((name) => ({ labels: { class: name }, value: quarantined()[name] })),
  ],
  messaging_webhooks_spool_events: ['gauge', [], 'Events in the spool.', ({ inbox }) => inbox.spooled],
  messaging_webhooks_spool_bytes: [
    'gauge',
    [],
    'Size of the local file with the spool, without free space.',
    ({ inbox }) => inbox.spoolBytes,
  ],
  messaging_webhooks_clock_offset_seconds: [
    'gauge',
    [],
    'How far this clock was ahead of the signature of the last new event, including its time in transit.',
    ({ clockOffsetSeconds }) => clockOffsetSeconds(),
  ],
} as const satisfies Readonly<Record<string, Row>>

/** Includes zeros for every mounted kind: Prometheus would miss an increase from a series that does not exist. */
function callbacks({ kinds }: DetailedCounts): readonly Sample[] {
  return COUNTED_KINDS.filter((kind) => kinds[kind].isUsed).flatMap((kind) => {
    const { new: accepted, duplicate, late, refused } = kinds[kind]
    return [
      ...Object.entries({ new: accepted, duplicate, late }).map(([outcome, value]) => ({
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
    const reading: Reading = { ...options, meter, stored, progress: dispatcher.progress() }
    return Object.entries(METRICS)
      .map(([name, [type, , help, read]]) => {
        const value = read(reading) ?? []
        return exposed(name, type, help, typeof value === 'number' ? [{ value }] : value)
      })
      .join('')
  }
}

/**
 * One metric in the Prometheus text format, version 0.0.4: its help, its type, and a line per sample. A histogram has a line
 * per bound.
 */
export function exposed(name: string, type: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.flatMap(({ labels = {}, value }) =>
    typeof value === 'number' ? [line(name, labels, value)] : linesOfHistogram(name, labels, value),
  )
  return [`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function linesOfHistogram(name: string, labels: Readonly<Record<string, string>>, histogram: Histogram): string[] {
  let count = 0
  const buckets = histogram.counts.map((inBucket, at) => {
    count += inBucket
    return line(`${name}_bucket`, { ...labels, le: numberText(histogram.bounds[at] ?? Infinity) }, count)
  })
  return [...buckets, line(`${name}_sum`, labels, histogram.sum), line(`${name}_count`, labels, count)]
}

function line(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapedLabel(text)}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`
}

function numberText(value: number): string {
  return value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value)
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapedLabel(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"')
}
