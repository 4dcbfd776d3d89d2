/** Counts the answers to callbacks, and explains those that a correct receiver would not give. */
import type { Delivery } from '../emulator/request.ts'
import { findingOfStatus } from '../operations/doctor/findings.ts'
import { verdictOf, type Verdict } from '../emulator/journal.ts'
import type { ExitName } from './command.ts'
import { shown, type Colours, type Terminal } from './terminal.ts'

type Summary = ReturnType<ReturnType<typeof createAnswers>['summary']>

export function createAnswers() {
  const answers = new Map<string, number>()
  const faults = new Map<string, number>()
  const tookMs: number[] = []
  /** Unexpected answers of one kind, with an example. */
  const unexpected = new Map<string, { readonly verdict: Verdict; readonly delivery: Delivery; count: number }>()
  let requests = 0

  function countOf(verdict: Verdict): number {
    return [...unexpected.values()].reduce((sum, one) => sum + (one.verdict === verdict ? one.count : 0), 0)
  }

  return {
    add(delivery: Delivery): void {
      requests += 1
      raise(answers, answerOf(delivery))
      for (const fault of delivery.faults) raise(faults, fault)
      if (delivery.status !== undefined) tookMs.push(delivery.tookMs)
      const verdict = verdictOf(delivery)
      if (verdict === undefined) return
      const key = `${verdict} ${answerOf(delivery)} ${verdict === 'wronglyAccepted' ? delivery.faults.join() : ''}`
      const known = unexpected.get(key) ?? { verdict, delivery, count: 0 }
      known.count += 1
      unexpected.set(key, known)
    },
    summary() {
      tookMs.sort((a, b) => a - b)
      const percentile = (share: number) => tookMs[Math.max(0, Math.ceil(tookMs.length * share) - 1)]
      return {
        /** Requests sent, and those that a fault dropped. */
        requests,
        /** By status; `none` for no answer, `dropped` for a request that was not sent. */
        answers: Object.fromEntries([...answers].sort()),
        faults: Object.fromEntries([...faults].sort()),
        /** Valid callbacks with an answer other than 2xx. */
        refused: countOf('lost'),
        /** Invalid callbacks that were answered 2xx. */
        wronglyAccepted: countOf('wronglyAccepted'),
        /** Requests that should have been answered. */
        unanswered: countOf('unanswered'),
        /** Percentiles of the response time, by nearest rank. */
        p50Ms: percentile(0.5),
        p99Ms: percentile(0.99),
      }
    },
    /** Prints one explanation for each kind of unexpected answer, to the standard error. */
    explain({ note, noteColours: { yellow } }: Pick<Terminal, 'note' | 'noteColours'>): void {
      for (const { verdict, delivery, count } of unexpected.values()) {
        const got = shown(String(delivery.status ?? delivery.error ?? 'no answer'))
        const [expected, next] = EXPLANATIONS[verdict](delivery)
        note(`${yellow('unexpected:')} ${got}${count > 1 ? `, ${count} times` : ''}. Expected: ${expected}`)
        note(`Next: ${shown(next)}`)
      }
    },
    exit(): ExitName {
      if (countOf('lost') > 0 || countOf('wronglyAccepted') > 0) return 'refused'
      return unexpected.size > 0 ? 'unanswered' : 'ok'
    },
  }
}

function raise(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function answerOf({ status, faults }: Delivery): string {
  return String(status ?? (faults.includes('drop') ? 'dropped' : 'none'))
}

const EXPLANATIONS: Readonly<Record<Verdict, (delivery: Delivery) => readonly [expected: string, next: string]>> = {
  lost: ({ url, status = 0 }) => [
    '204, because the callback is signed and complete.',
    `${causeOf(status)} More: messaging-webhooks doctor ${url}`,
  ],
  wronglyAccepted: ({ faults }) => [
    `401, because nothing proves the callback after ${faults.join(', ')}.`,
    'mount receiver.middleware() at this URL. The handler there accepts forged callbacks.',
  ],
  unanswered: ({ sent }) => [
    'an answer.',
    sent
      ? 'look in the app for a handler or middleware that never answers, or raise --timeout.'
      : 'start the app, and compare the host and port of --to with those that it listens on.',
  ],
}

function causeOf(status: number): string {
  if (status === 401) return 'compare SIGNING_SECRET and AUTH_KEY with those of the receiver, and read its log.'
  const { what, fix } = findingOfStatus(status)
  return `${what} ${fix}`
}

/** One answer as a line. `about` describes the callback. */
export function deliveryLine(delivery: Delivery, colours: Colours, about?: string): string {
  const { green, red, yellow, dim } = colours
  const { status, tookMs, error, faults, url } = delivery
  const verdict = verdictOf(delivery)
  const colour = verdict !== undefined ? red : status === undefined ? yellow : green
  const answer = answerOf(delivery)
  const parts = [
    colour(answer === 'none' ? 'no answer' : answer),
    status === undefined ? undefined : `${tookMs} ms`,
    about && shown(about),
    error && shown(error),
    faults.length === 0 ? undefined : yellow(`with ${faults.join(', ')}`),
    verdict === 'wronglyAccepted' ? red('it should have been refused') : undefined,
    dim(shown(url)),
  ]
  return parts.filter((part) => part !== undefined).join('  ')
}

/** For example “204: 3, 401: 1”. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ')
}

export function printSummary(
  { requests, answers, faults, p50Ms, p99Ms, refused, wronglyAccepted, unanswered }: Summary,
  { printRows, colours: { bold, red } }: Terminal,
): void {
  const rows: readonly (readonly [name: string, value: string | false])[] = [
    ['requests', String(requests)],
    ['answers', countsText(answers)],
    ['faults', Object.keys(faults).length > 0 && countsText(faults)],
    ['time', p50Ms !== undefined && `p50 ${p50Ms} ms, p99 ${p99Ms ?? p50Ms} ms`],
    ['refused', refused > 0 && red(`${refused} that should have been accepted`)],
    ['accepted', wronglyAccepted > 0 && red(`${wronglyAccepted} that should have been refused`)],
    ['unanswered', unanswered > 0 && red(String(unanswered))],
  ]
  printRows(rows.flatMap(([name, value]) => (value === false ? [] : [[bold(name), value]])))
}
