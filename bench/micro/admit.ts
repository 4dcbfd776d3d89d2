import { answered, openedMemoryStore } from './memory-store.ts'
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
      answered(store.admit([next()], nowMs))
      const { claims } = answered(store.claim({ limit: 1, nowMs, leaseUntilMs: nowMs + 60_000, exclude }))
      const [claim] = claims
      if (claim === undefined) throw new Error('The admitted event was not due.')
      const { id, messageKey, token } = claim
      const [settled] = answered(store.settle([{ id, messageKey, token, outcome: 'done' }], nowMs))
      if (settled !== true) throw new Error('The claimed event could not be settled.')
      return settled
    }
  },
}
