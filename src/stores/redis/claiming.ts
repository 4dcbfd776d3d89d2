/** Handing events over: a look at what is due everywhere, then a lease on the longest due. */
import type { Claim, ClaimRequest, ClaimResult } from '../../inbox/store.ts'
import type { Reply } from './clients/connection.ts'
import { decodeRecord } from './encoding.ts'
import type { Engine } from './engine.ts'
import { bytes, integer, isSet, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { CLAIM } from './scripts/claim.ts'
import { PEEK } from './scripts/peek.ts'

const peekScript = script(PEEK)
const claimScript = script(CLAIM)

/** Others take what was seen here: after so many looks the dispatcher asks again by itself. */
const MOST_LOOKS = 5

/** A message in a due set. */
interface Entry {
  readonly messageKey: string
  readonly dueKey: string
  /** From now, by the clock of its server; negative where it is due. */
  readonly inMs: number
}

/** A claim whose answer never came: it is asked for again, and the same call gets the same. */
interface Unanswered {
  readonly dueKey: string
  readonly messageKeys: readonly string[]
  readonly call: string
  readonly leaseUntilMs: number
}

export function createClaiming(engine: Engine): (request: ClaimRequest) => Promise<ClaimResult> {
  const { redis, partitions, timeFor, nextCall } = engine
  let unanswered: readonly Unanswered[] = []

  /** Where one server of several is away, the others' messages go on. */
  async function look(nowMs: number, most: number): Promise<readonly Entry[]> {
    const seen = await Promise.allSettled(
      partitions.groups.map(async (keys) => {
        const [serverNow, ...sets] = list(await redis.run(peekScript, keys, [timeFor(nowMs), most]))
        const serverNowMs = integer(serverNow)
        return keys.flatMap((dueKey, at) => entriesOf(dueKey, sets[at], serverNowMs))
      }),
    )
    const entries = valuesOf(seen).flat()
    if (entries.every(({ inMs }) => inMs > 0)) throwFirst(seen)
    return entries.sort((a, b) => a.inMs - b.inMs)
  }

  async function take(asked: Unanswered, nowMs: number): Promise<readonly Claim[]> {
    const { dueKey, messageKeys, call, leaseUntilMs } = asked
    try {
      const args = [timeFor(nowMs), leaseUntilMs - nowMs, call, ...messageKeys]
      return list(await redis.run(claimScript, [dueKey], args)).map(readClaim)
    } catch (error) {
      unanswered = [...unanswered, asked]
      throw error
    }
  }

  /** What a connection that broke kept from us is not left to run out with its lease. */
  async function takeUnanswered({ limit, nowMs, exclude }: ClaimRequest): Promise<readonly Claim[]> {
    const again = unanswered.filter(({ leaseUntilMs }) => leaseUntilMs > nowMs)
    const fitting: Unanswered[] = []
    let count = 0
    for (const asked of again) {
      const { messageKeys } = asked
      if (count + messageKeys.length > limit || messageKeys.some((key) => exclude.has(key))) continue
      fitting.push(asked)
      count += messageKeys.length
    }
    unanswered = again.filter((asked) => !fitting.includes(asked))
    // What fails once more is unanswered still, and no reason to leave the rest.
    return valuesOf(await Promise.allSettled(fitting.map((asked) => take(asked, nowMs)))).flat()
  }

  return async (request) => {
    const { limit, nowMs, leaseUntilMs, exclude } = request
    const claims: Claim[] = unanswered.length === 0 ? [] : [...(await takeUnanswered(request))]
    for (let looks = 1; ; looks += 1) {
      let results: readonly PromiseSettledResult<readonly Claim[]>[]
      let entries: readonly Entry[]
      let wanted: readonly Entry[]
      try {
        const taken = new Set(claims.map(({ messageKey }) => messageKey))
        entries = (await look(nowMs, limit + exclude.size + 1)).filter(
          ({ messageKey }) => !exclude.has(messageKey) && !taken.has(messageKey),
        )
        wanted = entries.filter(({ inMs }) => inMs <= 0).slice(0, limit - claims.length)
        results = await Promise.allSettled(
          byPartition(wanted).map(([dueKey, messageKeys]) =>
            take({ dueKey, messageKeys, call: nextCall(), leaseUntilMs }, nowMs),
          ),
        )
        if (claims.length === 0 && valuesOf(results).flat().length === 0) throwFirst(results)
      } catch (error) {
        // What was taken is ours and must run; what failed is asked for again by the next claim.
        if (claims.length > 0) return { claims, nextDueMs: nowMs }
        throw error
      }
      const found = valuesOf(results).flat()
      claims.push(...found)
      if (found.length < wanted.length && looks < MOST_LOOKS && !results.some(isFailure)) continue
      const rest = entries.filter((entry) => !wanted.includes(entry)).map(({ inMs }) => nowMs + inMs)
      if (found.length < wanted.length) rest.push(nowMs)
      if (claims.length > 0) rest.push(leaseUntilMs)
      return { claims, nextDueMs: rest.length === 0 ? undefined : Math.min(...rest) }
    }
  }
}

function isFailure(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === 'rejected'
}

function valuesOf<T>(results: readonly PromiseSettledResult<T>[]): T[] {
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  const failure = results.find(isFailure)
  if (failure !== undefined) throw failure.reason
}

function entriesOf(dueKey: string, set: Reply, serverNowMs: number): readonly Entry[] {
  const flat = list(set)
  return Array.from({ length: flat.length / 2 }, (_, at) => ({
    messageKey: text(flat[2 * at]),
    dueKey,
    inMs: integer(flat[2 * at + 1]) - serverNowMs,
  }))
}

function byPartition(entries: readonly Entry[]): readonly (readonly [string, readonly string[]])[] {
  const groups = new Map<string, string[]>()
  for (const { dueKey, messageKey } of entries) {
    const group = groups.get(dueKey)
    if (group === undefined) groups.set(dueKey, [messageKey])
    else group.push(messageKey)
  }
  return [...groups]
}

function readClaim(reply: Reply): Claim {
  const [messageKey, id, token, attempt, late, replay, record, raw] = list(reply)
  return {
    id: text(id),
    messageKey: text(messageKey),
    token: integer(token),
    attempt: integer(attempt),
    late: isSet(late),
    replay: isSet(replay),
    record: decodeRecord(bytes(record)),
    raw: bytes(raw),
  }
}
