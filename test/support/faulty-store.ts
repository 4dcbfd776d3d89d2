/**
 * A store in front of a real one that a test can make fail: it throws, hangs, hangs and completes the calls once it is
 * available again, rejects poisoned events, or cannot be opened.
 */
import type { Store } from 'messaging-webhooks'
import type { Command, MessageStore, NewEvent } from 'messaging-webhooks/store'

export type Fault = 'none' | 'throws' | 'hangs' | 'is late' | 'will not open'

const LOOK_EVERY_MS = 20

interface FaultyStore extends Store {
  fault: Fault
  /** The message of the error that it throws. */
  says: string
  /** Events that the store rejects, in any batch. */
  refuses: (event: NewEvent) => boolean
}

export function faultyStore(inner: Store): FaultyStore {
  const store: FaultyStore = {
    capabilities: inner.capabilities,
    fault: 'none',
    says: 'The store is unavailable.',
    refuses: () => false,
    async open(host) {
      if (store.fault !== 'none') throw new Error('The store cannot be opened.')
      const open = await inner.open(host)
      const isRefused = (command: Command): boolean => command.do === 'admit' && store.refuses(command.event)
      // Every verb checks the fault first; an unavailable store answers no call.
      return new Proxy(open, {
        get(target, verb) {
          const call: unknown = Reflect.get(target, verb)
          if (typeof call !== 'function' || verb === 'close' || verb === 'isHeld') return call
          return async (...args: unknown[]): Promise<unknown> => {
            if (store.fault === 'throws') throw new Error(store.says)
            if (store.fault === 'hangs') return new Promise(() => {})
            while (store.fault === 'is late') await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
            // `args` are those of the verb.
            if (verb === 'run' && (args[0] as readonly Command[]).some(isRefused))
              throw new Error('Bad data in the batch.')
            return Reflect.apply(call, target, args)
          }
        },
      }) satisfies MessageStore
    },
  }
  return store
}
