/** Stores that outlive a receiver, or fail on request. */
import { memoryStore, type Store } from 'messaging-webhooks'
import type { Awaitable, NewEvent, OpenStore } from 'messaging-webhooks/store'

/** State of a `leasingStore` that a test sets or reads. */
interface Leasing {
  /** The number of calls of each verb. */
  readonly calls: { admit: number; admitAndClaim: number; claim: number }
  /** The number of events that were leased on admission. */
  leased: number
  /** For each settlement, whether it was deferrable. */
  readonly deferrable: boolean[]
  /** The number of settlements in each call. */
  readonly together: number[]
  /** The outcomes of the settlements. */
  readonly outcomes: string[]
  /** The events admitted through `admitAndClaim`. */
  readonly seen: NewEvent[]
  /** The underlying store, as another process has it. */
  elsewhere: OpenStore | undefined
  /** Awaited before `admitAndClaim` does its work; if it rejects, nothing is done. */
  before: (() => Promise<void>) | undefined
  /** Awaited after `admitAndClaim` has done its work; delays the answer. */
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
 * A store in memory that leases the first event of a message on admission, unlike memory itself, and does not report
 * the rest of a message, which others may have admitted. `durable`: as if on a disk. `gives`: as if it gave handlers a transaction. `holdMs`: as if
 * behind a network.
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
    // None of them is notified of the others' admissions.
    open: () => ({ ...lasting, notifiesRemaining: false, close: () => {} }),
  }
}

/** A store in memory whose operations a test can replace, one by one. */
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

/** A slow store in memory, like one behind a socket. */
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
