/** Stores that outlive a receiver, or fail when a test says so. */
import { memoryStore, type Store } from 'messaging-webhooks'
import type { Awaitable, NewEvent, OpenStore } from 'messaging-webhooks/store'

/** What a test decides and learns about a `leasingStore`. */
interface Leasing {
  /** How often each verb was called. */
  readonly calls: { admit: number; admitAndClaim: number; claim: number }
  /** Events that were leased as they were admitted. */
  leased: number
  /** Of each settlement, whether it might wait. */
  readonly deferrable: boolean[]
  /** How many settlements each call brought. */
  readonly together: number[]
  /** What the settlements said. */
  readonly outcomes: string[]
  /** What was admitted through `admitAndClaim`. */
  readonly seen: NewEvent[]
  /** The store behind it, as another process has it. */
  elsewhere: OpenStore | undefined
  /** An answer of `admitAndClaim` waits for this, what it did being done; where it rejects, nothing was done. */
  before: (() => Promise<void>) | undefined
  after: (() => Promise<void>) | undefined
}

export function newLeasing(): Leasing {
  return {
    calls: { admit: 0, admitAndClaim: 0, claim: 0 },
    leased: 0,
    deferrable: [],
    together: [],
    outcomes: [],
    seen: [],
    elsewhere: undefined,
    before: undefined,
    after: undefined,
  }
}

/**
 * A store in memory that leases the first event of a message as it admits it, however memory itself does it, and does not tell
 * what is left of a message: others may have put that there. `durable`: as if a disk kept it. `gives`: as if handlers had a transaction of it. `holdMs`: as if a
 * network were between.
 */
export function leasingStore(leasing: Leasing, { durable = false, gives = false, holdMs = 0 } = {}): Store {
  const { capabilities, open } = memoryStore()
  return {
    capabilities: { ...capabilities, durable },
    async open(host) {
      const memory = await open({ ...host, onWork() {} })
      leasing.elsewhere = memory
      const known = new Set<string>()
      return {
        ...memory,
        notifiesRemaining: false,
        settleLingerMs: holdMs,
        admit(events, nowMs) {
          leasing.calls.admit += 1
          for (const { messageKey } of events) known.add(messageKey)
          return memory.admit(events, nowMs)
        },
        async admitAndClaim(events, request) {
          leasing.calls.admitAndClaim += 1
          await leasing.before?.()
          const exclude = new Set([...known, ...request.exclude])
          for (const { messageKey } of events) known.add(messageKey)
          const admissions = await memory.admit(events, request.nowMs)
          const { claims } = await memory.claim({ ...request, exclude })
          leasing.leased += claims.length
          leasing.seen.push(...events)
          await leasing.after?.()
          return { admissions, claims }
        },
        claim(request) {
          leasing.calls.claim += 1
          return memory.claim(request)
        },
        settle(settlements, nowMs, deferrable = false) {
          leasing.together.push(settlements.length)
          leasing.outcomes.push(...settlements.map(({ outcome }) => outcome))
          for (const _ of settlements) leasing.deferrable.push(deferrable)
          return memory.settle(settlements, nowMs)
        },
        ...(gives ? { contextFor: () => ({}) } : {}),
      }
    },
  }
}

/** A store in memory that several receivers share, one after another or at once. */
export async function lastingStore(): Promise<Store> {
  const lasting = await memoryStore().open({ onWork: () => {} })
  return {
    capabilities: { name: 'lasting memory', durable: true, shared: true },
    // None of them hears of the rest.
    open: () => ({ ...lasting, notifiesRemaining: false, close: () => {} }),
  }
}

/** A store in memory of which a test replaces single operations for as long as it likes. */
export function brokenStore(
  broken: Partial<Pick<OpenStore, 'admit' | 'claim' | 'settle' | 'prune' | 'counts'>>,
): Store {
  const { capabilities, open } = memoryStore()
  return {
    capabilities,
    async open(host) {
      const { admitAndClaim: _, ...working } = await open(host)
      return {
        ...working,
        admit: (events, nowMs) => (broken.admit ?? working.admit)(events, nowMs),
        claim: (request) => (broken.claim ?? working.claim)(request),
        settle: (settlements, nowMs) => (broken.settle ?? working.settle)(settlements, nowMs),
        prune: (nowMs) => (broken.prune ?? working.prune)(nowMs),
        counts: () => (broken.counts ?? working.counts)(),
      }
    },
  }
}

/** A store in memory that takes its time, as one behind a socket does. */
export function slowStore(ms = 1): Store {
  const { capabilities, open } = memoryStore()
  const later = <T>(work: () => Awaitable<T>): Promise<T> =>
    new Promise((resolve, reject) =>
      setTimeout(() => {
        try {
          resolve(work())
        } catch (error) {
          reject(error instanceof Error ? error : new Error('not an error'))
        }
      }, ms),
    )
  return {
    capabilities,
    async open(host) {
      const { admitAndClaim: _, ...memory } = await open(host)
      return {
        ...memory,
        admit: (events, nowMs) => later(() => memory.admit(events, nowMs)),
        claim: (request) => later(() => memory.claim(request)),
        settle: (settlements, nowMs) => later(() => memory.settle(settlements, nowMs)),
      }
    },
  }
}
