/** Counts the answers that callbacks got, and says whether they are those of a right receiver. */
import type { Delivery } from '../emulator/callbacks/outgoing.ts'
import { isForPolicy } from '../emulator/faults/faults.ts'
import type { ExitName } from './exit-codes.ts'

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

interface Answers {
  add(delivery: Delivery): void
  summary(): Summary
}

export function createAnswers(): Answers {
  const answers = new Map<string, number>()
  const faults = new Map<string, number>()
  const tookMs: number[] = []
  const counts = { requests: 0, refused: 0, wronglyTaken: 0, unanswered: 0 }
  return {
    add(delivery) {
      counts.requests += 1
      raise(answers, answerOf(delivery))
      for (const fault of delivery.faults) raise(faults, fault)
      if (delivery.status !== undefined) tookMs.push(delivery.tookMs)
      const verdict = judge(delivery)
      if (verdict !== undefined) counts[verdict] += 1
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
  }
}

export function answerOf({ status, faults }: Delivery): string {
  if (status !== undefined) return String(status)
  return faults.includes('drop') ? 'dropped' : 'none'
}

/** What is wrong with an answer, if anything is. */
export function judge({ faults, intact, status }: Delivery): 'refused' | 'wronglyTaken' | 'unanswered' | undefined {
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

function raise(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

/** By nearest rank: a value that was measured. */
function percentile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}
