/** The answers to the callbacks of a run: counts, and what to do about those that a correct receiver does not give. */
import type { Delivery } from '../emulator/callbacks/outgoing.ts'
import { isForPolicy } from '../emulator/faults.ts'
import type { ExitName } from './exit-codes.ts'
import { aligned, shown, type Terminal } from './terminal.ts'

/** A run in numbers. */
export interface Summary {
  /** Requests that were made, or left out by a fault. */
  readonly requests: number
  /** How often each status was answered; `none` where there was no answer, `dropped` where nothing was sent. */
  readonly answers: Readonly<Record<string, number>>
  /** How often each fault was applied. */
  readonly faults: Readonly<Record<string, number>>
  /** What was to be taken and was answered otherwise. */
  readonly refused: number
  /** What was to be refused and was answered 2xx. */
  readonly wronglyTaken: number
  /** What should have been answered and was not. */
  readonly unanswered: number
  /** Milliseconds to the answer. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
}

export interface Answers {
  add(delivery: Delivery): void
  summary(): Summary
  /** Explains each kind of unexpected answer once, on the standard error. */
  explain(terminal: Pick<Terminal, 'note' | 'noteColours'>): void
}

/** Why an answer is not the expected one, and what to do next; `count` of the same status. */
interface Unexpected {
  readonly got: string
  readonly expected: string
  readonly next: string
  count: number
}

export function createAnswers(): Answers {
  const answers = new Map<string, number>()
  const faults = new Map<string, number>()
  const tookMs: number[] = []
  const counts = { requests: 0, refused: 0, wronglyTaken: 0, unanswered: 0 }
  const unexpected = new Map<string, Unexpected>()
  return {
    add(delivery) {
      counts.requests += 1
      raise(answers, answerOf(delivery))
      for (const fault of delivery.faults) raise(faults, fault)
      if (delivery.status !== undefined) tookMs.push(delivery.tookMs)
      const verdict = judge(delivery)
      if (verdict === undefined) return
      counts[verdict] += 1
      const { expected, next } = explanationOf(verdict, delivery)
      const key = `${expected} ${answerOf(delivery)}`
      const got = delivery.status === undefined ? (delivery.error ?? 'no answer') : String(delivery.status)
      const known = unexpected.get(key) ?? { got, expected, next, count: 0 }
      known.count += 1
      unexpected.set(key, known)
    },
    summary() {
      tookMs.sort((a, b) => a - b)
      return {
        ...counts,
        answers: Object.fromEntries([...answers].sort()),
        faults: Object.fromEntries([...faults].sort()),
        p50Ms: percentile(tookMs, 0.5),
        p99Ms: percentile(tookMs, 0.99),
      }
    },
    explain({ note, noteColours: { yellow } }) {
      for (const { got, expected, next, count } of unexpected.values()) {
        note(`${yellow('unexpected:')} ${shown(got)}${count > 1 ? `, ${count} times` : ''}. Expected: ${expected}`)
        note(`Next: ${shown(next)}`)
      }
    },
  }
}

export function answerOf({ status, faults }: Delivery): string {
  if (status !== undefined) return String(status)
  return faults.includes('drop') ? 'dropped' : 'none'
}

type Verdict = 'refused' | 'wronglyTaken' | 'unanswered'

/** What is wrong with an answer, if anything is. */
function judge({ faults, intact, status }: Delivery): Verdict | undefined {
  if (status === undefined) return faults.some((fault) => NO_ANSWER.has(fault)) ? undefined : 'unanswered'
  if (isForPolicy(faults)) return undefined
  const isTaken = status >= 200 && status < 300
  if (intact) return isTaken ? undefined : 'refused'
  return isTaken ? 'wronglyTaken' : undefined
}

/** After these no answer, or none that can be read, is as it should be. */
const NO_ANSWER: ReadonlySet<string> = new Set(['drop', 'connectionReset', 'halfClose'])

/** How a run with these numbers ends. */
export function exitOf({ refused, wronglyTaken, unanswered }: Summary): ExitName {
  if (refused > 0 || wronglyTaken > 0) return 'refused'
  return unanswered > 0 ? 'unanswered' : 'ok'
}

function explanationOf(verdict: Verdict, delivery: Delivery): Pick<Unexpected, 'expected' | 'next'> {
  switch (verdict) {
    case 'refused':
      return { expected: '204, because the callback is signed and complete.', next: nextAfter(delivery) }
    case 'wronglyTaken':
      return {
        expected: `401, because nothing proves the callback after ${delivery.faults.join(', ')}.`,
        next: 'mount receiver.middleware() at this URL. The handler there accepts forged callbacks.',
      }
    case 'unanswered':
      return {
        expected: 'an answer.',
        next: delivery.sent
          ? 'look in the app for a handler or middleware that never answers, or raise --timeout.'
          : 'start the app, and compare the host and port of --to with those that it listens on.',
      }
  }
}

/** What to do after a callback that a receiver with this pair accepts was answered otherwise. */
function nextAfter({ status = 0, url }: Delivery): string {
  const doctor = `messaging-webhooks doctor ${url}`
  if (status >= 300 && status < 400) return 'give --to the URL that this one redirects to. The service follows none.'
  switch (status) {
    case 401:
      return `compare SIGNING_SECRET and AUTH_KEY with those of the receiver. Its log has the reason, or run: ${doctor}`
    case 404:
      return 'compare the path of --to with the path that the receiver is mounted at.'
    case 405:
      return 'mount the receiver for POST, with app.post() or app.use().'
    case 413:
      return 'raise the limit on bodies in front of the receiver, or its maxBodyBytes.'
    case 503:
      return 'read the log of the app: its store or its credentials are unavailable, or a proxy does not reach it.'
    default:
      return `read the log of the app for an error before the receiver, or run: ${doctor}`
  }
}

function raise(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

/** By nearest rank: a value that was measured. */
function percentile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}

/** One answer, for a line of JSON. */
export function deliveryAsJson({ payload: _, ...delivery }: Delivery): object {
  return { type: 'answer', ...delivery }
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
