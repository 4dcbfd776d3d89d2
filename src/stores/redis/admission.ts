/** Taking events in: many by one script, and with a lease at once where this process has room for them. */
import { MOST_FINALS } from '../../inbox/latest.ts'
import type { Admission, AdmittedAndClaimed, ClaimRequest, NewEvent } from '../../inbox/store.ts'
import { callsFor, inPlace, type Call } from './calls.ts'
import type { RedisArgument } from './clients/connection.ts'
import { encodeRecord } from './encoding.ts'
import type { Engine } from './engine.ts'
import { integer, list, orThrow } from './replies.ts'
import { script } from './scripted.ts'
import { ADMIT } from './scripts/admit.ts'
import type { Unanswered } from './unanswered.ts'

const admitScript = script(ADMIT)
const ADMISSIONS: readonly Admission[] = ['duplicate', 'new', 'late']

interface AdmissionOptions {
  readonly engine: Engine
  readonly unanswered: Unanswered
  /** Is called when others may have something to do. */
  readonly announce: () => void
  /** Is called when this process may have leases that it does not know of. */
  readonly onWork: () => void
}

interface Admitting {
  admit(events: readonly NewEvent[], nowMs: number): Promise<readonly Admission[]>
  admitAndClaim(events: readonly NewEvent[], request: ClaimRequest): Promise<AdmittedAndClaimed>
}

/** Which events may be leased, and until when. */
interface Leasing {
  readonly events: ReadonlySet<NewEvent>
  readonly leaseUntilMs: number
}

const NONE: ReadonlySet<NewEvent> = new Set()

/** What became of one event. */
interface Admitted {
  readonly admission: Admission
  /** Of its lease; 0 for none. */
  readonly token: number
}

export function createAdmission({ engine, unanswered, announce, onWork }: AdmissionOptions): Admitting {
  const { redis, retention, timeFor, damage } = engine

  async function admitCall(
    { name, keys, members }: Call<NewEvent>,
    nowMs: number,
    { events, leaseUntilMs }: Leasing,
  ): Promise<readonly Admitted[]> {
    const leaseMs = Math.round(leaseUntilMs - nowMs)
    const args: (RedisArgument | number)[] = [timeFor(nowMs), name, retention.dedupeMs, MOST_FINALS, leaseMs]
    for (const { item, key } of members) {
      const { messageKey, id, order, final, step, awaits, gapUntilMs, record, raw } = item
      args.push(key, messageKey, id, order, final ? 1 : 0, step, awaits, Math.round(gapUntilMs - nowMs))
      args.push(events.has(item) ? 1 : 0, encodeRecord(record), raw)
    }
    const [answers, notes] = list(await redis.run(admitScript, keys, args))
    damage.tell(notes)
    return list(answers).map((reply) => {
      const [outcome, token] = list(reply)
      const admission = ADMISSIONS[integer(orThrow(outcome))]
      if (admission === undefined) throw new TypeError('The script answered with something else than an admission.')
      return { admission, token: integer(token) }
    })
  }

  async function admitAll(events: readonly NewEvent[], nowMs: number, leasing: Leasing): Promise<readonly Admitted[]> {
    // After an outage this is how the inbox asks whether the server is back.
    if (events.length === 0) {
      await redis.ask(['PING'])
      return []
    }
    const calls = callsFor(events, engine, ({ raw }) => raw.length)
    // Where one fails, the others may be in: they are duplicates when they come again, and nothing is lost or doubled.
    const results = await Promise.allSettled(calls.map((call) => admitCall(call, nowMs, leasing)))
    const isForOthers = results.some(
      (result) =>
        result.status === 'fulfilled' &&
        result.value.some(({ admission, token }) => admission !== 'duplicate' && token === 0),
    )
    if (isForOthers) announce()
    if (results.some(({ status }) => status === 'rejected')) askAgain(calls, leasing)
    return inPlace(
      calls,
      results.map((result) => {
        if (result.status === 'rejected') throw result.reason
        return result.value
      }),
    )
  }

  /** The caller hears of no lease where one of the calls failed: the next claim gets them all. */
  function askAgain(calls: readonly Call<NewEvent>[], { events, leaseUntilMs }: Leasing): void {
    const leased = calls.flatMap(({ members }) => members).filter(({ item }) => events.has(item))
    if (leased.length === 0) return
    unanswered.add(leased.map(({ item: { messageKey }, name }) => ({ messageKey, name, leaseUntilMs })))
    onWork()
  }

  return {
    async admit(events, nowMs) {
      const admitted = await admitAll(events, nowMs, { events: NONE, leaseUntilMs: nowMs })
      return admitted.map(({ admission }) => admission)
    },
    async admitAndClaim(events, request) {
      const { nowMs, leaseUntilMs } = request
      const admitted = await admitAll(events, nowMs, { events: leasable(events, request), leaseUntilMs })
      return {
        admissions: admitted.map(({ admission }) => admission),
        claims: events.flatMap(({ id, messageKey, record, raw }, at) => {
          const { admission, token } = admitted[at] ?? NOTHING
          if (token === 0) return []
          return [{ id, messageKey, token, attempt: 1, late: admission === 'late', replay: false, record, raw }]
        }),
      }
    },
  }
}

const NOTHING: Admitted = { admission: 'duplicate', token: 0 }

/** Of a message of which several come at once, the script cannot say which will be the first one. */
function leasable(events: readonly NewEvent[], { limit, exclude }: ClaimRequest): ReadonlySet<NewEvent> {
  const counts = new Map<string, number>()
  for (const { messageKey } of events) counts.set(messageKey, (counts.get(messageKey) ?? 0) + 1)
  return new Set(
    events.filter(({ messageKey }) => counts.get(messageKey) === 1 && !exclude.has(messageKey)).slice(0, limit),
  )
}
