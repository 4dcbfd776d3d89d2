/** The Prometheus text format, version 0.0.4, and its histograms. Independent of the metrics. */

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

/** One metric: its help, its type, and a line per sample. A histogram has a line per bound. */
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
