import { admitting, LONG_MS, settling } from '../../src/store-conformance/samples.ts'
import { answeredAtOnce, openedMemoryStore } from './memory-store.ts'
import { freshEvents } from './events.ts'
import type { Step } from './step.ts'

export const admit: Step = {
  what: 'admit, lease and settle in the memory store',
  prepare() {
    const store = openedMemoryStore()
    const next = freshEvents()
    return () => {
      const event = next()
      answeredAtOnce(store.run([admitting(event)]))
      const [key] = answeredAtOnce(store.due({ of: 'events', limit: 1 })).keys
      if (key === undefined) throw new Error('The admitted event was not due.')
      const [granted] = answeredAtOnce(store.run([{ do: 'lease', key, forMs: LONG_MS }]))
      if (granted === undefined) throw new Error('The due event was not leased.')
      const [settled] = answeredAtOnce(store.run([settling({ ...event, ...granted, expected: undefined })]))
      if (settled?.held !== true) throw new Error('The leased event could not be settled.')
      return settled
    }
  },
}
