/** Handing events over: a look at what is due everywhere, then a lease on the longest due. */
import { MessagingWebhooksError } from '../../errors.ts'
import type { Claim, ClaimRequest, ClaimResult, Settlement } from '../../inbox/store.ts'
import { callsFor, type Call } from './calls.ts'
import type { Reply } from './clients/connection.ts'
import { decodePayload } from './encoding.ts'
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { bytes, integer, isSet, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { CLAIM } from './scripts/claim.ts'
import { PEEK } from './scripts/peek.ts'
import type { Unanswered } from './unanswered.ts'

const peekScript = script(PEEK)
const claimScript = script(CLAIM)

/** Others take what was seen here: after so many looks the dispatcher asks again by itself. */
const MOST_LOOKS = 5

type Unreadable = Omit<Claim, 'record'>

/** A message in a due set. */
interface Entry {
  readonly messageKey: string
  /** From now, by the clock of its server; negative where it is due. */
  readonly inMs: number
}

export function createClaiming(
  engine: Engine,
  unanswered: Unanswered,
  settle: (settlements: readonly Settlement[], nowMs: number) => Promise<readonly boolean[]>,
): (request: ClaimRequest) => Promise<ClaimResult> {
  const { redis, partitions, retention, timeFor, damage } = engine

  async function peek(keys: Keys, nowMs: number, most: number): Promise<readonly (readonly Entry[])[]> {
    const [serverNow, ...sets] = list(await redis.run(peekScript, keys, [timeFor(nowMs), most]))
    const serverNowMs = integer(serverNow)
    // What is not of this partition is no message of ours; prune takes it out.
    return sets.map((set, at) =>
      entriesOf(set, serverNowMs).filter(({ messageKey }) => partitions.dueKeyOf(messageKey) === keys[at]),
    )
  }

  /** One more than are wanted says what comes next; what is ours may stand before it, and then we look further. */
  async function peekPast(keys: Keys, nowMs: number, wanted: number, ours: readonly ReadonlySet<string>[]) {
    const few = wanted + 1
    const isOurs = ({ messageKey }: Entry): boolean => ours.some((set) => set.has(messageKey))
    const first = await peek(keys, nowMs, few)
    const isCutShort = first.some((entries) => entries.length === few && entries.some(isOurs))
    const seen = isCutShort
      ? await peek(
          keys,
          nowMs,
          ours.reduce((most, { size }) => most + size, few),
        )
      : first
    return seen.flat().filter((entry) => !isOurs(entry))
  }

  /** Where one server of several is away, the others' messages go on. */
  async function look(nowMs: number, wanted: number, ours: readonly ReadonlySet<string>[]): Promise<readonly Entry[]> {
    const seen = await Promise.allSettled(partitions.groups.map((keys) => peekPast(keys, nowMs, wanted, ours)))
    const entries = valuesOf(seen).flat()
    if (entries.every(({ inMs }) => inMs > 0)) throwFirst(seen)
    return entries.sort((a, b) => a.inMs - b.inMs)
  }

  /** Under new names, unless they have some: what may have been given to a call before. */
  async function take(
    { keys, members }: Call<{ readonly messageKey: string; readonly name?: string }>,
    { nowMs, leaseUntilMs }: ClaimRequest,
  ): Promise<readonly Claim[]> {
    const asked = members.map(({ item, name, key }) => ({ key, messageKey: item.messageKey, name: item.name ?? name }))
    const fields = asked.flatMap(({ key, messageKey, name }) => [key, messageKey, name])
    let reply: Reply
    try {
      const args = [timeFor(nowMs), Math.round(leaseUntilMs - nowMs), retention.deadLetterMs, ...fields]
      reply = await redis.run(claimScript, keys, args)
    } catch (error) {
      unanswered.add(asked.map(({ messageKey, name }) => ({ messageKey, name, leaseUntilMs })))
      throw error
    }
    const [found, notes] = list(reply)
    damage.tell(notes)
    const claims: Claim[] = []
    const unreadable: Unreadable[] = []
    for (const each of list(found)) {
      const { record, json: _, ...claim } = readClaim(each)
      if (record === undefined) unreadable.push(claim)
      else claims.push({ ...claim, record })
    }
    if (unreadable.length > 0) await setAside(unreadable, nowMs)
    return claims
  }

  /** What it holds stays as it is: the dead letter shows what can be read of it. */
  async function setAside(unreadable: readonly Unreadable[], nowMs: number): Promise<void> {
    const errors = unreadable.map(({ id }) => new MessagingWebhooksError('event_damaged', `It is e of event ${id}.`))
    const settlements = unreadable.map(({ id, messageKey, token }, at): Settlement => ({
      id,
      messageKey,
      token,
      outcome: 'dead',
      error: errors[at]?.message ?? '',
    }))
    const held = await settle(settlements, nowMs).catch(() => {
      // The server is away: the leases run out, and it is met once more.
      return unreadable.map(() => false)
    })
    damage.tell(unreadable.filter((_, at) => held[at] === true).map(({ id }) => ['event_damaged', id, 'e']))
  }

  /** What a connection that broke kept from us is not left to run out with its lease. */
  async function takeUnanswered(request: ClaimRequest): Promise<readonly Claim[]> {
    const calls = callsFor(unanswered.take(request), engine)
    // What fails once more is unanswered still, and no reason to leave the rest.
    return valuesOf(await Promise.allSettled(calls.map((call) => take(call, request)))).flat()
  }

  return async (request) => {
    const { limit, nowMs, leaseUntilMs, exclude } = request
    const claims: Claim[] = [...(await takeUnanswered(request))]
    for (let looks = 1; ; looks += 1) {
      let results: readonly PromiseSettledResult<readonly Claim[]>[]
      let entries: readonly Entry[]
      let wanted: readonly Entry[]
      try {
        const taken = new Set(claims.map(({ messageKey }) => messageKey))
        const wantedCount = limit - claims.length
        entries = await look(nowMs, wantedCount, [exclude, taken])
        wanted = entries.filter(({ inMs }) => inMs <= 0).slice(0, wantedCount)
        results = await Promise.allSettled(callsFor(wanted, engine).map((call) => take(call, request)))
        if (claims.length === 0 && valuesOf(results).flat().length === 0) throwFirst(results)
      } catch (error) {
        // What was taken is ours and must run; what failed is asked for again by the next claim.
        if (claims.length > 0) return { claims, nextDueMs: nowMs }
        throw error
      }
      const found = valuesOf(results).flat()
      claims.push(...found)
      if (found.length < wanted.length && looks < MOST_LOOKS && !results.some(isFailure)) continue
      const next = entries.filter((entry) => !wanted.includes(entry) && Number.isFinite(entry.inMs))
      const rest = next.map(({ inMs }) => nowMs + inMs)
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

function entriesOf(set: Reply, serverNowMs: number): readonly Entry[] {
  const flat = list(set)
  return Array.from({ length: flat.length / 2 }, (_, at) => ({
    messageKey: text(flat[2 * at]),
    inMs: scoreOf(flat[2 * at + 1]) - serverNowMs,
  }))
}

/** Of a sorted set that somebody else may have written to: `inf` is one. */
function scoreOf(reply: Reply | undefined): number {
  const score = text(reply)
  return score.endsWith('inf') ? Number(score.replace('inf', 'Infinity')) : Number(score)
}

function readClaim(reply: Reply) {
  const [messageKey, id, token, attempt, late, replay, payload] = list(reply)
  return {
    id: text(id),
    messageKey: text(messageKey),
    token: integer(token),
    attempt: integer(attempt),
    late: isSet(late),
    replay: isSet(replay),
    ...decodePayload(bytes(payload)),
  }
}
