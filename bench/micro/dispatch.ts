import { systemClock } from '../../src/runtime/clock.ts'
import { makeAttempt } from '../../src/dispatch/attempt.ts'
import { createHandlerRegistry } from '../../src/dispatch/handlers.ts'
import { createParts } from '../../src/dispatch/parts.ts'
import { revive } from '../../src/dispatch/revive.ts'
import { freshEvents } from './events.ts'
import { openedMemoryStore } from './memory-store.ts'
import type { Step } from './step.ts'

const SETTLED = { held: true, nextInMs: undefined }

export const dispatch: Step = {
  what: 'a claim to an event, one handler, the settlement',
  prepare() {
    const clock = systemClock()
    const handlers = createHandlerRegistry(1_000)
    let handled = 0
    handlers.add('message.*', () => void (handled += 1))
    const parts = createParts(
      {
        clock,
        handlers,
        retry: { attempts: 1, initialDelayMs: 1, maxDelayMs: 1 },
        concurrency: 1,
        handlerTimeoutMs: 1_000,
        storeTimeoutMs: 1_000,
        shared: false,
        reviving: { clock, schemas: {}, subscriptionType: () => undefined, schemaTimeoutMs: 1 },
        report: (error) => {
          throw error
        },
        availability: { foundBy: new Set(), isUnavailable: false, found: 0, begin() {}, end() {}, endAnswered() {} },
        attemptMessage: (event, { attempt, replay }) => ({ receiver: {}, event, attempt, replay }),
        unhandled: () => {},
        secrets: () => [],
      },
      {
        phase: { isStopped: false, isOver: false },
        observers: { meter: undefined, watch: undefined },
        begin: () => {},
      },
    )
    const from = {
      store: openedMemoryStore(),
      settle: () => SETTLED,
      settleDeferrable: () => SETTLED,
    }
    const next = freshEvents()
    return async () => {
      const { id, messageKey, record, raw } = next()
      const before = handled
      const claim = {
        id,
        messageKey,
        record,
        raw,
        token: 1,
        attempt: 1,
        late: false,
        replay: false,
        expected: undefined,
      }
      const work = parts.slots.track(claim, from, Infinity)
      const event = await revive(claim, parts.reviving)
      const settlement = await makeAttempt(parts, work, event)
      parts.slots.untrack(work)
      if (settlement?.outcome !== 'done' || handled !== before + 1) throw new Error('The handler did not run.')
    }
  },
}
