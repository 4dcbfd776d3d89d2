/** Tests the simulation itself: it must find a defect in each part, one at a time, in the real code or at its edge. */
import { afterEach, expect, test, vi } from 'vitest'
import type { Process } from './process.ts'
import type { Stage } from './simulate.ts'

/** Maximum steps to find a defect; most take less than a tenth of it. */
const STEPS = 150_000
/** Leases that expire under a handler are rare; starting from this seed finds such worlds sooner. */
const RARE = 28

/** The simulation and its dependencies, imported again so that the mocks take effect. */
async function play(
  choose: (stages: typeof import('./stages.ts')) => Stage,
  {
    defects = {},
    firstSeed = 1,
  }: { readonly defects?: NonNullable<Stage['defects']>; readonly firstSeed?: number } = {},
) {
  const { simulate } = await import('./simulate.ts')
  const stage = { ...choose(await import('./stages.ts')), defects }
  const { found, steps, worlds } = await simulate(stage, { steps: STEPS, firstSeed })
  console.info(
    `found after ${steps} steps in ${worlds} worlds: ${found?.outcome.broken?.message.slice(0, 200) ?? 'nothing'}`,
  )
  return found?.outcome.broken?.promise
}

afterEach(() => {
  vi.doUnmock('../../src/inbox/poison.ts')
  vi.doUnmock('../../src/messages/order.ts')
  vi.doUnmock('../../src/dispatch/slots.ts')
  vi.doUnmock('../../src/dispatch/attempt.ts')
  vi.doUnmock('../../src/messages/events.ts')
  vi.resetModules()
})

test('finds an inbox that answers before the store has answered', async () => {
  const answersAtOnce = (process: Process): Process => ({
    ...process,
    get running() {
      return process.running
    },
    get isClosing() {
      return process.isClosing
    },
    admit(event) {
      const admission = process.admit(event)
      if (admission instanceof Promise) admission.catch(() => {})
      return 'new'
    },
  })
  expect(await play(({ SQLITE }) => SQLITE, { defects: { process: answersAtOnce } })).toBe(
    'no accepted callback is lost',
  )
})

test('finds an inbox that discards the events of a failed batch', async () => {
  vi.doMock('../../src/inbox/poison.ts', () => ({
    async admitAroundPoison(admit: (events: readonly unknown[]) => unknown, events: readonly unknown[]) {
      try {
        return await admit(events)
      } catch {
        return events.map(() => 'new')
      }
    },
  }))
  expect(await play(({ MEMORY }) => MEMORY)).toBe('no accepted callback is lost')
})

test('finds a dispatcher that claims events already in flight', async () => {
  vi.doMock('../../src/dispatch/slots.ts', async (original) => {
    const { createSlots } = await original<typeof import('../../src/dispatch/slots.ts')>()
    return {
      createSlots(options: Parameters<typeof createSlots>[0]): ReturnType<typeof createSlots> {
        const slots = createSlots(options)
        const { reserveCapacity } = slots
        return Object.assign(slots, {
          reserveCapacity(...input: Parameters<typeof reserveCapacity>) {
            const request = reserveCapacity(...input)
            return request && { ...request, exclude: new Set() }
          },
        })
      },
    }
  })
  expect(await play(({ SQLITE }) => SQLITE, { firstSeed: RARE })).toBe('one event of a message at a time')
})

test('finds a dispatcher that settles a failed attempt as done', async () => {
  vi.doMock('../../src/dispatch/attempt.ts', async (original) => {
    const { makeAttempt, ...rest } = await original<typeof import('../../src/dispatch/attempt.ts')>()
    return {
      ...rest,
      async makeAttempt(...input: Parameters<typeof makeAttempt>) {
        const settlement = await makeAttempt(...input)
        if (settlement === undefined) return undefined
        const { id, key, token } = settlement
        return { do: 'settle', key, id, token, outcome: 'done' }
      },
    }
  })
  expect(await play(({ IN_PROCESS }) => IN_PROCESS)).toBe('only dispatched events are settled')
})

test('finds a spool that answers before the file has committed', async () => {
  const answersAtOnce: NonNullable<Stage['defects']>['file'] = (file) => ({
    ...file,
    call(name, ...args) {
      const answer = file.call(name, ...args)
      if (name !== 'append') return answer
      answer.catch(() => {})
      const state = { first: 1, last: 1, waiting: 1, refused: 0, bytes: 0 }
      // The answer of `append`.
      return Promise.resolve({ from: 1, state }) as never
    },
  })
  expect(await play(({ MEMORY }) => MEMORY, { defects: { file: answersAtOnce } })).toBe('no accepted callback is lost')
})

test('finds a relay that removes events before the store has them', async () => {
  const removesTooSoon: NonNullable<Stage['defects']>['file'] = (file) => ({
    ...file,
    async call(name, ...args) {
      const answer = await file.call(name, ...args)
      const rows = typeof answer === 'object' && 'rows' in answer ? (answer.rows ?? []) : []
      if (rows.length > 0)
        await file.call(
          'remove',
          rows.map(({ id }) => id),
          [],
        )
      return answer
    },
  })
  expect(await play(({ MEMORY }) => MEMORY, { defects: { file: removesTooSoon } })).toBe('no accepted callback is lost')
})

test('finds a memory store that treats a late report as a new one', async () => {
  vi.doMock('../../src/messages/order.ts', async (original) => ({
    ...(await original<typeof import('../../src/messages/order.ts')>()),
    isLate: () => false,
  }))
  expect(await play(({ IN_PROCESS }) => IN_PROCESS)).toBe('an event is admitted once, and marked late if it is')
})

test('finds an SQLite store that settles without checking the fencing token', async () => {
  vi.doMock('../../src/messages/events.ts', async (original) => {
    const { settle, ...rest } = await original<typeof import('../../src/messages/events.ts')>()
    return {
      ...rest,
      settle(...[record, settlement, nowMs]: Parameters<typeof settle>) {
        const { token = 0 } = record?.waiting.find(({ id }) => id === settlement.id) ?? {}
        return settle(record, { ...settlement, token }, nowMs)
      },
    }
  })
  expect(await play(({ SQLITE }) => SQLITE, { firstSeed: RARE })).toBe('only the lease holder settles')
})
