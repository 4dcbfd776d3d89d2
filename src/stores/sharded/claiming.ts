/**
 * Claims from all parts at once, each for a fair share of what there is room for. Whoever is slow or away keeps nobody waiting:
 * what it brings later is handed out with the next claim, and one that failed is left alone for a while.
 */
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type { Claim, ClaimRequest, ClaimResult, OpenStore, PartsHost, Settlement } from '../../inbox/store.ts'
import type { Parts } from './parts.ts'

/** So long the others are waited for once one has answered, by who knows of parts; who does not waits for all. */
const GRACE_MS = 50
/** So long a part that has failed is not asked. */
const PAUSE_MS = 1_000
/** A part that has not answered for so long is away. */
const SILENT_MS = 5_000

interface Asked {
  readonly name: string
  /** It is being asked, and was not given up yet. */
  isAsked: boolean
  /** Somebody has claimed meanwhile, so it is asked again once it has answered. */
  isWanted: boolean
  isAway: boolean
  /** Not before then, by the clock of whoever claims. */
  againMs: number
  error: unknown
  /** What it brought too late, with the time until which it is leased. */
  late: Claim[]
}

interface Claiming {
  claim(request: ClaimRequest): Promise<ClaimResult>
  /** Gives back what nobody has been given. */
  stop(): Promise<void>
}

/** `maySplit`: the events of a message may stand in two parts, and only one of them may be in hand. */
export function createClaiming<X extends object>(
  parts: Parts<X>,
  host: Pick<PartsHost<X>, 'onWork' | 'onAway' | 'onBack' | 'wantsParts'>,
  inPart: (claim: Claim, part: OpenStore<X>, name: string) => Claim,
  maySplit: boolean,
): Claiming {
  const clock = systemClock()
  const all = parts.names.map((name): Asked => {
    return { name, isAsked: false, isWanted: false, isAway: false, againMs: -Infinity, error: undefined, late: [] }
  })
  /** Who comes first where there is not room for all. */
  let turn = 0
  let latestNowMs = 0
  let isStopped = false

  function failed(asked: Asked, nowMs: number, error: unknown): void {
    asked.error = error
    asked.againMs = nowMs + PAUSE_MS
    if (asked.isAway || isStopped) return
    asked.isAway = true
    host.onAway(asked.name, error)
  }

  function answered(asked: Asked): void {
    asked.againMs = -Infinity
    if (!asked.isAway) return
    asked.isAway = false
    host.onBack(asked.name)
  }

  /** Resolves to undefined where it failed, or has not answered in time. `isOver`: nobody waits for the answer any more. */
  function ask(asked: Asked, request: ClaimRequest, isOver: () => boolean): Promise<ClaimResult | undefined> {
    const { name } = asked
    asked.isAsked = true
    asked.isWanted = false
    return new Promise((resolve) => {
      let isSilent = false
      const cancel = clock.setTimer(() => {
        isSilent = true
        asked.isAsked = false
        failed(asked, request.nowMs, new MessagingWebhooksError('store_slow', `It is the shard ${name}.`))
        resolve(undefined)
        host.onWork()
      }, SILENT_MS)
      async function answer(): Promise<ClaimResult | undefined> {
        const part = await parts.get(name)
        const { claims, nextDueMs } = await part.claim(request)
        answered(asked)
        // Before anybody is woken.
        if (!isSilent) asked.isAsked = false
        const own = claims.map((claim) => inPart(claim, part, name))
        if (!isSilent && !isOver()) return { claims: own, nextDueMs }
        asked.late.push(...own.map((claim) => ({ leaseUntilMs: request.leaseUntilMs, ...claim })))
        if (isStopped) await giveBack(asked)
        else if (own.length > 0 || asked.isWanted) host.onWork()
        else if (nextDueMs !== undefined) clock.setTimer(host.onWork, nextDueMs - request.nowMs)
        return undefined
      }
      answer()
        .catch((error: unknown) => {
          failed(asked, request.nowMs, error)
          // Somebody must know when it is to be asked again.
          if ((isSilent || isOver()) && !isStopped) host.onWork()
          return undefined
        })
        .then((result) => {
          cancel()
          if (!isSilent) asked.isAsked = false
          resolve(result)
        })
        .catch(() => {})
    })
  }

  /** One round: each of these is asked for its share. */
  async function round(
    ready: readonly Asked[],
    request: ClaimRequest,
    found: ReadonlyMap<Asked, readonly Claim[]>,
  ): Promise<ReadonlyMap<Asked, ClaimResult & { readonly isFull: boolean }>> {
    const results = new Map<Asked, ClaimResult & { readonly isFull: boolean }>()
    const first = (turn += 1)
    const share = Math.floor(request.limit / ready.length)
    const more = request.limit % ready.length
    let isOver = false
    await new Promise<void>((resolve) => {
      let left = ready.length
      let cancel: (() => void) | undefined
      function end(): void {
        isOver = true
        cancel?.()
        resolve()
      }
      for (const [index, asked] of ready.entries()) {
        const limit = share + ((index + first) % ready.length < more ? 1 : 0)
        // Not this time: its turn is the next round, or the next claim.
        const asking =
          limit === 0
            ? Promise.resolve({ claims: [], nextDueMs: undefined })
            : ask(asked, { ...request, limit, exclude: excludedFrom(asked, request, found) }, () => isOver)
        void asking.then((result) => {
          if (isOver) return
          if (result !== undefined) results.set(asked, { ...result, isFull: result.claims.length >= limit })
          left -= 1
          if (left === 0) end()
          else if (host.wantsParts && result !== undefined && limit > 0) cancel ??= clock.setTimer(end, GRACE_MS, true)
        })
      }
    })
    return results
  }

  /** A message of which another part has given an event is in hand. Its own leases a part knows. */
  function excludedFrom(
    asked: Asked,
    { exclude }: ClaimRequest,
    found: ReadonlyMap<Asked, readonly Claim[]>,
  ): ReadonlySet<string> {
    if (!maySplit || found.size === 0) return exclude
    const others = [...found].flatMap(([other, claims]) => (other === asked ? [] : claims))
    return new Set([...exclude, ...others.map(({ messageKey }) => messageKey)])
  }

  /** What came too late for earlier claims, as far as it is still leased and wanted. */
  function takeLate({ limit, nowMs, exclude }: ClaimRequest): Claim[] {
    const taken: Claim[] = []
    for (const asked of all) {
      asked.late = asked.late.filter((claim) => {
        if ((claim.leaseUntilMs ?? 0) <= nowMs) return false
        if (taken.length >= limit || exclude.has(claim.messageKey)) return true
        taken.push(claim)
        return false
      })
    }
    return taken
  }

  async function giveBack(asked: Asked): Promise<void> {
    const dueMs = latestNowMs
    const unbegun = asked.late.map(({ id, messageKey, token }): Settlement => {
      return { id, messageKey, token, outcome: 'unbegun', dueMs }
    })
    asked.late = []
    if (unbegun.length === 0) return
    // Where that fails, their leases run out.
    await parts
      .get(asked.name)
      .then((part) => part.settle(unbegun, dueMs))
      .catch(() => [])
  }

  return {
    async claim(request) {
      const { limit, nowMs } = request
      latestNowMs = Math.max(latestNowMs, nowMs)
      const claims = takeLate(request)
      const found = new Map<Asked, readonly Claim[]>()
      const dueMs = new Map<Asked, number | undefined>()
      for (const asked of all) if (asked.isAsked) asked.isWanted = true
      const asks = all.filter((asked) => !asked.isAsked && asked.againMs <= nowMs)
      if (asks.length === 0 && claims.length === 0 && all.every(({ isAway }) => isAway)) throw all[0]?.error
      let ready = asks
      while (ready.length > 0 && claims.length < limit) {
        const results = await round(ready, { ...request, limit: limit - claims.length }, found)
        for (const [asked, { claims: more, nextDueMs }] of results) {
          claims.push(...more)
          found.set(asked, [...(found.get(asked) ?? []), ...more])
          dueMs.set(asked, nextDueMs)
        }
        ready = ready.filter((asked) => results.get(asked)?.isFull === true)
      }
      if (claims.length === 0 && asks.length > 0 && all.every(({ isAway }) => isAway)) throw asks[0]?.error
      for (const asked of all) if (asked.isAway) dueMs.set(asked, asked.againMs)
      const known = [...dueMs.values()].filter((ms) => ms !== undefined)
      return { claims, nextDueMs: known.length === 0 ? undefined : Math.min(...known) }
    },
    async stop() {
      isStopped = true
      await Promise.all(all.map(giveBack))
    },
  }
}
