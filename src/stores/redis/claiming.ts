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

  async function look(nowMs: number, most: number): Promise<readonly Entry[]> {
    const seen = await Promise.all(
      partitions.groups.map(async (keys) => {
        const [serverNow, ...sets] = list(await redis.run(peekScript, keys, [timeFor(nowMs), most]))
        const serverNowMs = integer(serverNow)
        return keys.flatMap((dueKey, at) => entriesOf(dueKey, sets[at], serverNowMs))
      }),
    )
    return seen.flat().sort((a, b) => a.inMs - b.inMs)
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

  /** What others could not be told because a connection broke is not left to run out with its lease. */
  async function takeUnanswered({ limit, nowMs, exclude }: ClaimRequest): Promise<readonly Claim[]> {
    const again = unanswered.filter(({ leaseUntilMs }) => leaseUntilMs > nowMs)
    unanswered = []
    const claims: Claim[] = []
    for (const asked of again) {
      const fits = claims.length + asked.messageKeys.length <= limit
      if (fits && !asked.messageKeys.some((key) => exclude.has(key))) claims.push(...(await take(asked, nowMs)))
      else unanswered = [...unanswered, asked]
    }
    return claims
  }

  return async (request) => {
    const { limit, nowMs, leaseUntilMs, exclude } = request
    const claims: Claim[] = unanswered.length === 0 ? [] : [...(await takeUnanswered(request))]
    for (let looks = 1; ; looks += 1) {
      const taken = new Set(claims.map(({ messageKey }) => messageKey))
      const entries = (await look(nowMs, limit + exclude.size + 1)).filter(
        ({ messageKey }) => !exclude.has(messageKey) && !taken.has(messageKey),
      )
      const wanted = entries.filter(({ inMs }) => inMs <= 0).slice(0, limit - claims.length)
      const results = await Promise.allSettled(
        byPartition(wanted).map(([dueKey, messageKeys]) =>
          take({ dueKey, messageKeys, call: nextCall(), leaseUntilMs }, nowMs),
        ),
      )
      const found = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
      claims.push(...found)
      const failed = results.find((result) => result.status === 'rejected')
      // What was taken is ours and must run; what failed is asked for again by the next claim.
      if (failed !== undefined && claims.length === 0) throw failed.reason
      if (failed === undefined && found.length < wanted.length && looks < MOST_LOOKS) continue
      const rest = entries.filter((entry) => !wanted.includes(entry)).map(({ inMs }) => nowMs + inMs)
      if (found.length < wanted.length) rest.push(nowMs)
      if (claims.length > 0) rest.push(leaseUntilMs)
      return { claims, nextDueMs: rest.length === 0 ? undefined : Math.min(...rest) }
    }
  }
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
