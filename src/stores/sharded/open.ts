/** Puts the verbs of the contract together, over parts that somebody has opened; and opens them for who does not know of parts. */
import { someOf, systemClock } from '../../clock.ts'
import { MessagingWebhooksError, OptionsError } from '../../errors.ts'
import type { Claim, JoinedStore, OpenStore, PartsHost, Store, StoreHost } from '../../inbox/store.ts'
import { createAdmission } from './admission.ts'
import { createClaiming } from './claiming.ts'
import { createExpecting } from './expecting.ts'
import { createForgetting } from './forgetting.ts'
import { createHomes } from './homes.ts'
import { createListing } from './listing.ts'
import { createParts, valueOf } from './parts.ts'
import { createReading } from './reading.ts'
import { createSettling } from './settling.ts'

export interface Shards<X extends object> {
  readonly stores: ReadonlyMap<string, Store<X>>
  /** Names by which a message finds its home: new ones by the first. */
  readonly generations: readonly (readonly string[])[]
}

export function joinParts<X extends object>(
  { stores, generations }: Shards<X>,
  host: PartsHost<X>,
  parts = createParts([...stores.keys()], host),
  closeParts = async (): Promise<void> => {},
): JoinedStore<X> {
  const homes = createHomes(generations, { open: parts.get, isBehind: host.isBehind })
  const claiming = createClaiming(parts, host, inPart, generations.length > 1)

  function inPart(claim: Claim, part: OpenStore<X>, name: string): Claim {
    homes.met(claim.messageKey, name)
    return host.wantsParts ? { ...claim, part } : claim
  }

  /** The open part in which a claim of this message stands, as far as is known without asking. */
  function partOf(messageKey: string): OpenStore<X> | undefined {
    return parts.open.get(homes.placesOf(messageKey)[0] ?? '')
  }

  function contextFor(claim: Claim): X {
    const extras = partOf(claim.messageKey)?.contextFor?.(claim)
    if (extras === undefined)
      throw new OptionsError('shardedStore: some of the stores add to the context of handlers, and others do not.')
    return extras
  }

  const { admit, admitAndClaim } = createAdmission(parts, homes.homeOf, inPart)
  const mayLease = [...stores.values()].every(({ capabilities }) => capabilities.admitsAndClaims === true)
  return {
    ...createReading(parts, homes.homeOf),
    ...createListing(parts),
    ...createSettling(parts, homes.placesOf),
    ...createForgetting(parts),
    ...createExpecting(parts, homes.homeOf),
    admit,
    ...(mayLease ? { admitAndClaim } : {}),
    claim: claiming.claim,
    get latestNowMs() {
      const known = [...parts.open.values()].flatMap(({ latestNowMs }) => latestNowMs ?? [])
      return known.length === 0 ? undefined : Math.max(...known)
    },
    isHeld(messageKey) {
      const answers = homes.placesOf(messageKey).map((name) => {
        const part = parts.open.get(name)
        return part?.isHeld === undefined ? part !== undefined : part.isHeld(messageKey)
      })
      if (answers.every((answer) => answer === true)) return true
      // The others may have it, and hold it.
      return answers.length === 1 ? answers[0] : undefined
    },
    get contextFor() {
      return [...parts.open.values()].some((part) => part.contextFor !== undefined) ? contextFor : undefined
    },
    homeOf: homes.homeOf,
    mayStandIn: (messageKey, name) => homes.placesOf(messageKey).includes(name),
    async close() {
      await claiming.stop()
      await closeParts()
    },
  }
}

/** So long the others are waited for once one is open. */
const GRACE_MS = 1_000

/** All of them as one store. It opens where any part does; the others are opened when they are asked for. */
export async function openAsOne<X extends object>(shards: Shards<X>, host: StoreHost): Promise<OpenStore<X>> {
  const { stores } = shards
  const report = host.report ?? (() => {})
  const opening = new Map<string, Promise<OpenStore<X>>>()
  let isClosed = false

  async function openNow(name: string): Promise<OpenStore<X>> {
    const store = stores.get(name)
    if (store === undefined || isClosed) throw new MessagingWebhooksError('receiver_closed')
    return store.open({
      ...host,
      onLost: (isAmong) => host.onLost?.((messageKey) => joined.mayStandIn(messageKey, name) && isAmong(messageKey)),
    })
  }

  function open(name: string): Promise<OpenStore<X>> {
    const found = opening.get(name) ?? openNow(name)
    opening.set(name, found)
    found.catch(() => opening.delete(name))
    return found
  }

  async function closeAll(): Promise<void> {
    isClosed = true
    const closed = await Promise.allSettled([...opening.values()].map(async (part) => (await part).close()))
    for (const result of closed) valueOf(result)
  }

  const partsHost: PartsHost<X> = {
    open,
    onWork: host.onWork,
    onAway: (name, cause) => report(new MessagingWebhooksError('store_failed', `It is the shard ${name}.`, { cause })),
    onBack() {},
    isBehind: () => false,
    wantsParts: false,
  }
  const parts = createParts([...stores.keys()], partsHost)
  const joined = joinParts(shards, partsHost, parts, closeAll)
  await someOf(systemClock(), GRACE_MS, parts.names.map(parts.get))
  return joined
}
