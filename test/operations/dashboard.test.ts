/** The dashboard and the alerts ask for metrics, labels and values that exist. */
import { expect, test } from 'vitest'
import { readProjectFile } from '../../docs/markdown.ts'
import { ERRORS } from '../../src/public/error-table.ts'
import { METRICS } from '../../src/operations/metrics.ts'

const DASHBOARD = 'examples/grafana-dashboard.json'
/** The number of alerts on each page. */
const ALERTS = { 'docs/guides/observing.md': 5 }

/** The names for queries: a histogram has three. */
const LABELS_OF: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(METRICS).flatMap(([name, [type, labels]]): [string, readonly string[]][] =>
    type === 'histogram'
      ? ['bucket', 'sum', 'count'].map((part) => [`${name}_${part}`, [...labels, 'le']])
      : [[name, labels]],
  ),
)
/** Prometheus gives these to every target. */
const OF_TARGETS = ['job', 'instance']

/** Every expression: all of the dashboard's JSON, and the `expr` of the pages' alerts. */
function queriesOf(): readonly string[] {
  const dashboard = [
    ...readProjectFile(DASHBOARD).matchAll(/"(?:expr|query)": ("(?:[^"\\]|\\.)*messaging_webhooks(?:[^"\\]|\\.)*")/g),
  ]
  const alerts = Object.entries(ALERTS).flatMap(([page, count]) => {
    const found = [...readProjectFile(page).matchAll(/^ +expr: (.+)$/gm)]
    expect(found, page).toHaveLength(count)
    return found
  })
  return [...dashboard.map(([, json = '']) => String(JSON.parse(json))), ...alerts.map(([, text = '']) => text)]
}

test('every metric of a query exists, with its labels', () => {
  const asked = new Set<string>()
  for (const query of queriesOf()) {
    const names = query.match(/messaging_webhooks_\w+/g) ?? []
    expect(names.length, query).toBeGreaterThan(0)
    const known = names.flatMap((name) => LABELS_OF.get(name) ?? expect.fail(`${query}: there is no ${name}`))
    for (const [, labels = ''] of query.matchAll(/ by \(([^)]*)\)/g))
      for (const label of labels.split(', ')) expect([...known, ...OF_TARGETS], query).toContain(label)
    for (const [, label] of query.matchAll(/[{,](\w+)[=!]/g)) expect([...known, ...OF_TARGETS], query).toContain(label)
    for (const name of names) asked.add(name.replace(/_(bucket|sum|count)$/, ''))
  }
  // The dashboard shows each.
  expect([...asked].toSorted()).toEqual(Object.keys(METRICS).toSorted())
})

test('every code and outcome that an alert names exists', () => {
  const outcomes = ['new', 'duplicate', 'late', 'refused', 'succeeded', 'failed', 'timed_out', 'none']
  for (const query of queriesOf())
    for (const [, label, values = ''] of query.matchAll(/(code|outcome|carrier)[=!]~?"([^"]*)"/g))
      for (const value of values.split('|'))
        expect(label === 'code' ? Object.keys(ERRORS) : outcomes, query).toContain(value)
})
