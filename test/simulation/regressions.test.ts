/** Plans that broke a promise once, as small as they could be made, and what it was. */
import { expect, test } from 'vitest'
import { memoryEngine, sqliteEngine } from './engine.ts'
import type { Engine } from './engine.ts'
import type { Plan } from './plan.ts'
import { runWorld } from './world.ts'

interface Regression {
  readonly was: string
  readonly engine: () => Promise<Engine>
  readonly plan: Plan
  /** It is still so, and why. */
  readonly stillSo?: string
}

const calm = { spool: true, throwing: 0, hanging: 0, quick: 1 } as const

const REGRESSIONS: readonly Regression[] = [
  {
    was: 'a connection that was cut while events were offered alone cost one of them its meaning (sqlite)',
    engine: sqliteEngine,
    plan: {
      ...calm,
      seed: 76,
      processes: 1,
      concurrency: 4,
      operations: [
        {
          kind: 'poison',
          atMs: 0,
          callback: { message: 'm2', channel: 'carrier-a', word: 'absent_subscriber', second: 2 },
          how: 'hard',
        },
        {
          kind: 'callback',
          atMs: 2471.2365213781595,
          process: 0,
          callback: { message: 'm3', channel: 'carrier-a', word: 'delivery_impossible', second: 0 },
        },
        { kind: 'lossy', atMs: 4236.849015578628, forMs: 30492.748237813357, share: 0.1 },
        { kind: 'full', atMs: 6347.810979932547, forMs: 13858.020760971121 },
        {
          kind: 'callback',
          atMs: 14829.286159947515,
          process: 0,
          callback: { message: 'm2', channel: 'carrier-a', word: 'absent_subscriber', second: 2 },
        },
        {
          kind: 'callback',
          atMs: 15397.250363603234,
          process: 0,
          callback: { message: 'm3', channel: 'carrier-a', word: 'absent_subscriber', second: 1 },
        },
        { kind: 'replay', atMs: 119966.54187329113, process: 0 },
      ],
    },
  },
  {
    was: 'a process that was stopped while it opened its spool refuses what comes then',
    stillSo:
      'A start that takes longer than storeTimeoutMs refuses, with store_slow, what the spool could take a moment later.',
    engine: memoryEngine,
    plan: {
      ...calm,
      seed: 354,
      processes: 3,
      concurrency: 2,
      operations: [
        {
          kind: 'callback',
          atMs: 243.7711008824408,
          process: 2,
          callback: { message: 'm2', channel: 'payment', word: 'pending', second: 1 },
        },
        { kind: 'stop', atMs: 272.8767138905823, process: 2, forMs: 10299.491300340742 },
        {
          kind: 'callback',
          atMs: 512.2710154391825,
          process: 0,
          callback: { message: 'm2', channel: 'payment', word: 'pending', second: 0 },
        },
      ],
    },
  },
]

for (const { was, engine, plan, stillSo } of REGRESSIONS)
  test.skipIf(stillSo !== undefined)(stillSo === undefined ? was : `${was} (not mended: ${stillSo})`, async () => {
    const { broken } = await runWorld({ plan, engine, isStrict: true })
    expect(broken).toBeUndefined()
  })
