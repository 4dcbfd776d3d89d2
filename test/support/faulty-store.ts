/**
 * A store in front of a real one that can be taken away: it throws, hangs, hangs and does what it was asked when it is
 * back, refuses what is poison, or cannot be opened.
 */
import type { Store } from 'messaging-webhooks'
import type { NewEvent, OpenStore } from 'messaging-webhooks/store'

export type Fault = 'none' | 'throws' | 'hangs' | 'is late' | 'will not open'

const LOOK_EVERY_MS = 20

interface FaultyStore extends Store {
  fault: Fault
  /** What it throws with. */
  says: string
  /** Events that the store refuses, whoever they come with. */
  refuses: (event: NewEvent) => boolean
}

export function faultyStore(inner: Store): FaultyStore {
  const store: FaultyStore = {
    capabilities: inner.capabilities,
    fault: 'none',
    says: 'The store is away.',
    refuses: () => false,
    async open(host) {
      if (store.fault !== 'none') throw new Error('The store cannot be opened.')
      const open = await inner.open(host)
      // Every verb asks the fault first; a store that was taken away does not answer anything.
      return new Proxy(open, {
        get(target, verb) {
          const call: unknown = Reflect.get(target, verb)
          if (typeof call !== 'function' || verb === 'close') return call
          return async (...args: unknown[]): Promise<unknown> => {
            if (store.fault === 'throws') throw new Error(store.says)
            if (store.fault === 'hangs') return new Promise(() => {})
            while (store.fault === 'is late') await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
            if ((verb === 'admit' || verb === 'admitAndClaim') && (args[0] as NewEvent[]).some(store.refuses))
              throw new Error('Bad data in the batch.')
            return Reflect.apply(call, target, args)
          }
        },
      }) satisfies OpenStore
    },
  }
  return store
}
