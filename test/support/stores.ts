/** Stores that outlive a receiver, or fail when a test says so. */
import { memoryStore, type Awaitable, type OpenStore, type Store } from 'messaging-webhooks'

/** A store in memory that several receivers share, one after another or at once. */
export async function lastingStore(): Promise<Store> {
  const lasting = await memoryStore().open({ onWork: () => {} })
  return {
    capabilities: { name: 'lasting memory', durable: true, shared: true },
    open: () => ({ ...lasting, close: () => {} }),
  }
}

/** A store in memory of which a test replaces single operations for as long as it likes. */
export function brokenStore(broken: Partial<Pick<OpenStore, 'admit' | 'claim' | 'settle' | 'prune'>>): Store {
  const { capabilities, open } = memoryStore()
  return {
    capabilities,
    async open(host) {
      const working = await open(host)
      return {
        ...working,
        admit: (events, nowMs) => (broken.admit ?? working.admit)(events, nowMs),
        claim: (request) => (broken.claim ?? working.claim)(request),
        settle: (settlements, nowMs) => (broken.settle ?? working.settle)(settlements, nowMs),
        prune: (nowMs) => (broken.prune ?? working.prune)(nowMs),
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
      const memory = await open(host)
      return {
        ...memory,
        admit: (events, nowMs) => later(() => memory.admit(events, nowMs)),
        claim: (request) => later(() => memory.claim(request)),
        settle: (settlements, nowMs) => later(() => memory.settle(settlements, nowMs)),
      }
    },
  }
}
