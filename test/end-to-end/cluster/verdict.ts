/** Compares what handlers logged, over all lives of all instances, with what the service knows and with the guarantees. */
import { readFileSync } from 'node:fs'
import { placeOf } from './callbacks.ts'
import type { ServiceRecord } from './service.ts'

/** One process from start to end. */
export interface Life {
  readonly log: string
  readonly wasKilled: boolean
  /** On the clock that all processes of the machine share. */
  readonly killedNs?: bigint | undefined
}

interface Attempt {
  readonly id: string
  readonly messageId: string
  readonly state: string
  readonly isLate: boolean
  /** The store's count of attempts: an attempt that a killed process had claimed but not started is in no log. */
  readonly attempt: number
  readonly life: Life
  readonly beganNs: bigint
  endedNs: bigint | undefined
  isSettled: boolean
}

interface Verdict {
  /** Answered 204, but no handler has completed it. */
  readonly lost: readonly string[]
  /** Dispatched, although it was never sent. */
  readonly invented: readonly string[]
  /** Dispatched again, although it was not in flight at a kill. */
  readonly twice: readonly string[]
  /** Started while handlers of another event of its message ran, in any process. */
  readonly overlapping: readonly string[]
  /** Dispatched without being marked late after a later state of its message. */
  readonly backwards: readonly string[]
  /** Dispatched as late, although no later state had been dispatched. */
  readonly early: readonly string[]
  readonly handled: number
  /** For each event that was in flight at a kill, milliseconds until it started again, in ascending order. */
  readonly recoveredMs: readonly number[]
  readonly summary: string
}

/** The problem lists, all empty. */
export const NOTHING_WRONG = { lost: [], invented: [], twice: [], overlapping: [], backwards: [], early: [] }

/** The margin of a lease; shorter than the lease that the instances of these tests hold. */
const LEASE_NS = 10_000_000_000n

export function judge(lives: readonly Life[], record: ServiceRecord): Verdict {
  const attempts = lives.flatMap(readLife).toSorted((a, b) => (a.beganNs < b.beganNs ? -1 : 1))
  const done = new Set(attempts.filter(({ endedNs }) => endedNs !== undefined).map(nameOf))
  const byEvent = grouped(attempts, ({ id }) => id)
  const byMessage = grouped(attempts, ({ messageId }) => messageId)
  const again = byEvent.flatMap(pairsOf)
  const unexplained = again.filter(([before, after]) => !isExplained(before, after))
  const isLeaseOver = again.filter(([before, after]) => !before.life.wasKilled && isExplained(before, after)).length
  const names = new Set(attempts.map(nameOf))
  const lost = [...record.answered].filter((name) => !done.has(name))
  const recoveredMs = again.flatMap(recovery).toSorted((a, b) => a - b)
  const late = new Set(attempts.filter(({ isLate }) => isLate).map(({ id }) => id)).size
  const answers = [...record.statuses].map(([status, count]) => `${status ?? 'none'}: ${count}`).join(', ')
  return {
    lost,
    invented: [...names].filter((name) => !record.answered.has(name)),
    twice: unexplained.map(([, after]) => nameOf(after)),
    overlapping: byMessage.flatMap((runs) =>
      pairsOf(runs)
        .filter(([before, after]) => !hasGoneBefore(before, after))
        .map(([, after]) => nameOf(after)),
    ),
    backwards: byMessage.flatMap((runs) => runs.filter((run) => !run.isLate && isOvertaken(run, runs)).map(nameOf)),
    early: byMessage.flatMap((runs) =>
      runs.filter((run) => run.isLate && !isOvertaken(run, runs) && !wasClaimed(run, runs)).map(nameOf),
    ),
    handled: byEvent.length,
    recoveredMs,
    summary:
      `${record.sent} callbacks sent (answers ${answers}), ${record.answered.size} events, ${lost.length} lost; ` +
      `${byEvent.length} dispatched, ${late} of them late; ${again.length} repeated, ${unexplained.length} without a reason` +
      (isLeaseOver === 0 ? '' : `, ${isLeaseOver} because their process was stopped for longer than a lease`) +
      (recoveredMs.length === 0 ? '' : `; ${spread(recoveredMs)}`),
  }
}

/** Milliseconds from this moment until the next handler started, in any process. */
export function firstBeginAfterMs(lives: readonly Life[], momentNs: bigint): number {
  const begun = lives.flatMap(readLife).map(({ beganNs }) => Number(beganNs - momentNs) / 1e6)
  return Math.min(...begun.filter((afterMs) => afterMs > 0))
}

function nameOf({ messageId, state }: Attempt): string {
  return `${messageId} ${state}`
}

function grouped(attempts: readonly Attempt[], keyOf: (attempt: Attempt) => string): readonly (readonly Attempt[])[] {
  const groups = new Map<string, Attempt[]>()
  for (const attempt of attempts) {
    const group = groups.get(keyOf(attempt))
    if (group === undefined) groups.set(keyOf(attempt), [attempt])
    else group.push(attempt)
  }
  return [...groups.values()]
}

/** Each attempt with the previous one. */
function pairsOf(runs: readonly Attempt[]): readonly (readonly [Attempt, Attempt])[] {
  return runs.slice(1).map((after, index) => [runs[index] ?? after, after] as const)
}

/** The process was killed before it knew of the settlement, or held the event for longer than a lease. */
function isExplained(before: Attempt, after: Attempt): boolean {
  return !before.isSettled && (before.life.wasKilled || after.beganNs - before.beganNs > LEASE_NS)
}

function hasGoneBefore(before: Attempt, after: Attempt): boolean {
  if (before.endedNs === undefined) return before.life.wasKilled
  return before.endedNs <= after.beganNs || after.beganNs - before.beganNs > LEASE_NS
}

function recovery([before, after]: readonly [Attempt, Attempt]): readonly number[] {
  const { killedNs } = before.life
  return killedNs === undefined || before.isSettled ? [] : [Number(after.beganNs - killedNs) / 1e6]
}

function spread(sortedMs: readonly number[]): string {
  const at = (part: number): string =>
    ((sortedMs[Math.min(sortedMs.length - 1, Math.floor(part * sortedMs.length))] ?? 0) / 1_000).toFixed(2)
  return (
    `${sortedMs.length} events in flight at a kill started again after ` +
    `${at(0)} s minimum, ${at(0.5)} s median, ${at(0.99)} s p99, ${at(1)} s maximum`
  )
}

/** Whether a later state had started before it, not marked late. */
function isOvertaken(run: Attempt, runs: readonly Attempt[]): boolean {
  const place = placeOf(run.messageId, run.state)
  return runs.some(
    (other) => !other.isLate && other.beganNs < run.beganNs && placeOf(other.messageId, other.state) > place,
  )
}

/** Whether a process that was killed before its handler started had claimed a later state. */
function wasClaimed(run: Attempt, runs: readonly Attempt[]): boolean {
  const place = placeOf(run.messageId, run.state)
  return runs.some((other) => {
    const isLater = !other.isLate && placeOf(other.messageId, other.state) > place
    return (
      isLater && other.attempt > runs.filter(({ id, beganNs }) => id === other.id && beganNs <= other.beganNs).length
    )
  })
}

function readLife(life: Life): readonly Attempt[] {
  const attempts: Attempt[] = []
  const newest = new Map<string, Attempt>()
  for (const line of readFileSync(life.log, 'utf8').split('\n').slice(0, -1)) {
    const [what = '', id = '', ...rest] = line.split(' ')
    const atNs = BigInt(rest.pop() ?? 0)
    const attempt = newest.get(id)
    if (what === 'begin') {
      const [messageId = '', state = '', how = '', number = ''] = rest
      const begun = { id, messageId, state, isLate: how === 'late', life, beganNs: atNs }
      const made: Attempt = { ...begun, attempt: Number(number), endedNs: undefined, isSettled: false }
      newest.set(id, made)
      attempts.push(made)
    } else if (attempt !== undefined && what === 'end') attempt.endedNs = atNs
    else if (attempt !== undefined && what === 'settled') attempt.isSettled = true
  }
  return attempts
}
