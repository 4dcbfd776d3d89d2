/** What `trigger` prints. */
import type { Delivery } from '../emulator/callbacks/outgoing.ts'
import { FAULT_NAMES, faultRow } from '../emulator/faults/faults.ts'
import { answerOf, judge, type Summary } from './answers.ts'
import type { MisspeltField } from './misspelt-fields.ts'
import { aligned, shown, type Terminal } from './terminal.ts'
import type { Triggered } from './trigger-events.ts'

/** A line of JSON about one answer. */
export function deliveryAsJson({ payload: _, ...delivery }: Delivery): string {
  return JSON.stringify({ type: 'answer', ...delivery })
}

export function printDelivery(delivery: Delivery, { print, colours }: Terminal): void {
  const { green, red, yellow, dim } = colours
  const wrong = judge(delivery)
  const answer = answerOf(delivery)
  const colour = wrong !== undefined ? red : delivery.status === undefined ? yellow : green
  const parts = [
    colour(answer === 'none' ? 'no answer' : answer),
    ...(delivery.status === undefined ? [] : [`${delivery.tookMs} ms`]),
    ...(delivery.error === undefined ? [] : [shown(delivery.error)]),
    ...(delivery.faults.length === 0 ? [] : [`with ${delivery.faults.join(', ')}`]),
    ...(wrong === 'wronglyTaken' ? [red('it should have been refused')] : []),
    dim(shown(delivery.url)),
  ]
  print(parts.join('  '))
}

export function printSummary(summary: Summary, { print, colours }: Terminal): void {
  const { bold, red } = colours
  const counted = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name}: ${count}`)
      .join(', ')
  const rows = [
    ['requests', String(summary.requests)],
    ['answers', counted(summary.answers)],
    ...(Object.keys(summary.faults).length > 0 ? [['faults', counted(summary.faults)]] : []),
    ...(summary.p50Ms === undefined
      ? []
      : [['time', `p50 ${summary.p50Ms} ms, p99 ${summary.p99Ms ?? summary.p50Ms} ms`]]),
    ...(summary.refused > 0 ? [['refused', red(`${summary.refused} that should have been taken`)]] : []),
    ...(summary.wronglyTaken > 0 ? [['taken', red(`${summary.wronglyTaken} that should have been refused`)]] : []),
    ...(summary.unanswered > 0 ? [['unanswered', red(String(summary.unanswered))]] : []),
  ].map(([name = '', value = '']) => [bold(name), value])
  for (const line of aligned(rows)) print(line)
}

export function noteMisspelt(
  fields: readonly MisspeltField[],
  event: string,
  { note, noteColours }: Pick<Terminal, 'note' | 'noteColours'>,
): void {
  for (const { name, meant } of fields)
    note(
      `${noteColours.yellow('note:')} ${shown(name)} is no known field of ${event} (did you mean ${meant}?); it is sent all the same.`,
    )
}

export function printList(triggered: readonly Triggered[], json: boolean, { print, colours }: Terminal): void {
  const events = triggered.map(({ name, kind, what }) => ({ event: name, kind, what }))
  const faults = FAULT_NAMES.map((fault) => ({ fault, what: faultRow(fault).what }))
  if (json) {
    for (const row of [...events, ...faults]) print(JSON.stringify(row), 'whole')
    return
  }
  print(colours.bold('Events'))
  for (const line of aligned(events.map(({ event, kind, what }) => [`  ${event}`, kind, what]))) print(line)
  print(colours.bold('Faults'))
  for (const line of aligned(faults.map(({ fault, what }) => [`  ${fault}`, what]))) print(line)
}
