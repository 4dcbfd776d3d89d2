/** What handlers wrote down in all lives of all instances, compared with what the service knows and with what must hold. */
import { readFileSync } from 'node:fs'
import { placeOf } from './callbacks.ts'
import type { ServiceRecord } from './service.ts'

/** One process from its start to its end. */
export interface Life {
  readonly log: string
  readonly wasKilled: boolean
  /** By the clock that all processes of the machine share. */
  readonly killedNs?: bigint | undefined
}

interface Attempt {
  readonly id: string
  readonly messageId: string
  readonly state: string
  readonly isLate: boolean
  /** As the store counts them: one that a killed process had claimed and not begun is in no log. */
  readonly attempt: number
  readonly life: Life
  readonly beganNs: bigint
  endedNs: bigint | undefined
  isSettled: boolean
}

interface Verdict {
  /** Answered 204, but no handler has ended with it. */
  readonly lost: readonly string[]
  /** Handed over though nobody sent it. */
  readonly invented: readonly string[]
  /** Handed over again without having been in a handler's hands at a kill. */
  readonly twice: readonly string[]
  /** Begun while the handlers of another event of its message ran, in whatever process. */
  readonly overlapping: readonly string[]
  /** Handed over as itself after a later state of its message. */
  readonly backwards: readonly string[]
  /** Handed over as late though nothing later had been. */
  readonly early: readonly string[]
  readonly handled: number
  /** How long after a kill each event that the killed one's handlers had began again, in milliseconds, the quickest first. */
  readonly recoveredMs: readonly number[]
  readonly summary: string
}

/** What must be empty. */
export const NOTHING_WRONG = { lost: [], invented: [], twice: [], overlapping: [], backwards: [], early: [] }

/** The margin of a lease, and less than the time for which the instances of these tests hold one. */
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
      `${byEvent.length} handed over, ${late} of them late; ${again.length} run again, ${unexplained.length} without a reason` +
      (isLeaseOver === 0 ? '' : `, ${isLeaseOver} because their process stood still for longer than a lease`) +
      (recoveredMs.length === 0 ? '' : `; ${spread(recoveredMs)}`),
  }
}

/** How long after this moment the next handler began, in whatever process; in milliseconds. */
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

/** Each one with the one before it. */
function pairsOf(runs: readonly Attempt[]): readonly (readonly [Attempt, Attempt])[] {
  return runs.slice(1).map((after, index) => [runs[index] ?? after, after] as const)
}

/** Its process was killed before it knew that it was settled; or was given up, having held it for a whole lease. */
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
    `${sortedMs.length} that a kill took from their handlers began again after ` +
    `${at(0)} s at the soonest, ${at(0.5)} s in the middle, ${at(0.99)} s at 99 %, ${at(1)} s at the latest`
  )
}

/** Whether a later state had begun before it, as itself. */
function isOvertaken(run: Attempt, runs: readonly Attempt[]): boolean {
  const place = placeOf(run.messageId, run.state)
  return runs.some(
    (other) => !other.isLate && other.beganNs < run.beganNs && placeOf(other.messageId, other.state) > place,
  )
}

/** Whether a later state had been handed to a process that was killed before its handler began. */
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
