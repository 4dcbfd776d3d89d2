/** Plans that once broke a promise, shrunk, each with the promise. */
import { expect, test } from 'vitest'
import { sqliteEngine } from './engine.ts'
import type { Engine } from './engine.ts'
import type { Plan } from './plan.ts'
import { runWorld } from './world.ts'

interface Regression {
  readonly title: string
  readonly engine: () => Promise<Engine>
  readonly plan: Plan
}

const calm = { spool: true, throwing: 0, hanging: 0, quick: 1 } as const

const REGRESSIONS: readonly Regression[] = [
  {
    title: 'keeps the meaning of every event when a connection is cut while events are admitted one by one (sqlite)',
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
]

for (const { title, engine, plan } of REGRESSIONS)
  test(title, async () => {
    const { broken } = await runWorld({ plan, engine, isStrict: true })
    expect(broken).toBeUndefined()
  })
