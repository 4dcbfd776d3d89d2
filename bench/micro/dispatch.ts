import { systemClock } from '../../src/clock.ts'
import { createAttempts } from '../../src/dispatch/attempt.ts'
import { createHandlerRegistry } from '../../src/dispatch/handlers.ts'
import { revive } from '../../src/dispatch/revive.ts'
import { freshEvents } from './events.ts'
import type { Step } from './step.ts'

export const dispatch: Step = {
  what: 'a claim to an event, one handler, the settlement',
  prepare() {
    const clock = systemClock()
    const handlers = createHandlerRegistry()
    let handled = 0
    handlers.add('message.*', () => void (handled += 1))
    const attempts = createAttempts({
      clock,
      handlers,
      retry: { attempts: 1, initialDelayMs: 1, maxDelayMs: 1 },
      handlerTimeoutMs: 1_000,
      revive: (claim) =>
        revive(claim, { clock, schemas: {}, subscriptionType: () => undefined, late: 'separate', schemaTimeoutMs: 1 }),
      report: (error) => {
        throw error
      },
      handedOver: () => {},
      unhandled: () => {},
      secrets: () => [],
      onHung: () => {},
      isLost: () => false,
    })
    const next = freshEvents()
    return async () => {
      const { id, messageKey, record, raw } = next()
      const before = handled
      const claim = { id, messageKey, record, raw, token: 1, attempt: 1, late: false, replay: false }
      const controller = new AbortController()
      const given = { claim, controller, payload: undefined, extras: undefined, isLost: false }
      const settlement = await attempts.make(given)
      if (settlement?.outcome !== 'done' || handled !== before + 1) throw new Error('The handler did not run.')
    }
  },
}
