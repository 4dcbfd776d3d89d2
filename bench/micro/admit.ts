import { openedMemoryStore } from './memory-store.ts'
import { freshEvents } from './events.ts'
import type { Step } from './step.ts'

export const admit: Step = {
  what: 'admit, claim and settle in the memory store',
  prepare() {
    const store = openedMemoryStore()
    const next = freshEvents()
    const exclude = new Set<string>()
    return () => {
      const nowMs = Date.now()
      store.admit([next()], nowMs)
      const claimed = store.claim({ limit: 1, nowMs, leaseUntilMs: nowMs + 60_000, exclude })
      const [claim] = claimed instanceof Promise ? [] : claimed.claims
      if (claim === undefined) throw new Error('What was admitted was not due.')
      return store.settle([{ id: claim.id, messageKey: claim.messageKey, token: claim.token, outcome: 'done' }], nowMs)
    }
  },
}
