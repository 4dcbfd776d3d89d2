/** When a process is sure of its leases, and when it gives them up. */
import { fakeClock } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createHolding, type Heartbeat, type HeartbeatAnswer } from '../../src/stores/holding.ts'

const START_MS = 1_000_000

/** A store whose results the test sets. */
function holdingOf(answer: (heartbeat: Heartbeat) => Partial<HeartbeatAnswer> | Error | undefined = () => ({})) {
  const clock = fakeClock(START_MS)
  const heartbeats: (Heartbeat & { readonly atMs: number })[] = []
  const seen = { lost: 0, work: 0 }
  let blockedMs = 0
  const holding = createHolding({
    clock,
    monotonicMs: () => clock.now() + blockedMs,
    onLost: () => void (seen.lost += 1),
    onWork: () => void (seen.work += 1),
    onSetBack() {},
    async sendHeartbeat(heartbeat) {
      heartbeats.push({ ...heartbeat, atMs: clock.now() - START_MS })
      const said = answer(heartbeat)
      if (said === undefined) return new Promise(() => {})
      if (said instanceof Error) throw said
      const healthy = { isKnown: true, isAlone: false, nextDeathInMs: 7_000, hasReleased: false }
      return { ...healthy, setBackFromMs: undefined, ...said }
    },
  })
  onTestFinished(() => holding.stop())
  /** Simulates a blocked event loop: the clock advances and no timer fires. */
  const block = (ms: number): void => void (blockedMs += ms)
  return { clock, holding, heartbeats, seen, block }
}

describe('heartbeats', () => {
  test('run every two seconds, and sooner after a failure', async () => {
    let isUnavailable = false
    const { clock, holding, heartbeats } = holdingOf(() => (isUnavailable ? new Error('unavailable') : {}))
    await holding.sure()
    await clock.advance(4_000)
    isUnavailable = true
    await clock.advance(3_000)
    expect(heartbeats.map(({ atMs }) => atMs)).toEqual([0, 2_000, 4_000, 6_000, 6_500, 7_000])
    expect(heartbeats.map(({ isFirst }) => isFirst)).toEqual([true, false, false, false, false, false])
  })

  test('run more often when another worker may die sooner', async () => {
    const { clock, holding, heartbeats } = holdingOf(() => ({ nextDeathInMs: 300 }))
    await holding.sure()
    await clock.advance(700)
    expect(heartbeats.map(({ atMs }) => atMs)).toEqual([0, 300, 600])
  })
})

describe('a process whose heartbeats fail', () => {
  test('is unsure of its leases, and gives them up just before others may take its work', async () => {
    let isUnavailable = false
    const { clock, holding, seen } = holdingOf(() => (isUnavailable ? new Error('unavailable') : {}))
    await holding.sure()
    isUnavailable = true
    await clock.advance(6_499)
    expect([holding.isHeld(), seen.lost]).toEqual([true, 0])
    await clock.advance(1)
    expect([holding.isHeld(), seen.lost]).toEqual([undefined, 0])
    await clock.advance(1_000)
    expect([holding.isHeld(), seen.lost]).toEqual([false, 1])
    await expect(holding.sure()).rejects.toThrow('unavailable')
    await clock.advance(60_000)
    expect(seen.lost).toBe(1)
  })

  test('keeps its id when no other worker declared it dead', async () => {
    let isUnavailable = false
    const { clock, holding, seen } = holdingOf(() => (isUnavailable ? new Error('unavailable') : {}))
    const id = await holding.sure()
    isUnavailable = true
    await clock.advance(30_000)
    isUnavailable = false
    await clock.advance(1_000)
    expect([holding.isHeld(), holding.id, seen]).toEqual([true, id, { lost: 1, work: 1 }])
  })

  test('takes a new id when another worker declared it dead', async () => {
    const dead = new Set<string>()
    const { clock, holding, seen, heartbeats } = holdingOf(({ id }) => ({ isKnown: !dead.has(id) }))
    const id = await holding.sure()
    dead.add(id)
    await clock.advance(2_000)
    expect(seen.lost).toBe(1)
    await clock.advance(1)
    expect(holding.id).not.toBe(id)
    expect([holding.isHeld(), seen.lost, heartbeats.at(-1)?.isFirst]).toEqual([true, 1, true])
  })

  test('asks first after a blocked event loop, and loses nothing if the store still knows it', async () => {
    const { clock, holding, seen, block } = holdingOf(() => ({ isAlone: true }))
    await holding.sure()
    block(60_000)
    // No other worker could take anything.
    expect(holding.isHeld()).toBeUndefined()
    await holding.sure()
    await clock.advance(0)
    expect([holding.isHeld(), seen.lost]).toEqual([true, 0])
  })

  test('knows after that time that other workers took its work', async () => {
    const { holding, block } = holdingOf()
    await holding.sure()
    block(7_000)
    expect(holding.isHeld()).toBeUndefined()
    block(1_000)
    expect(holding.isHeld()).toBe(false)
  })

  test('ignores an answer that took too long', async () => {
    let isSilent = false
    const { clock, holding, seen } = holdingOf(() => (isSilent ? undefined : {}))
    await holding.sure()
    isSilent = true
    await clock.advance(7_500)
    expect(seen.lost).toBe(1)
    const asked = holding.sure()
    isSilent = false
    await Promise.all([asked.catch(() => {}), clock.advance(4_000)])
    expect(holding.isHeld()).toBe(true)
  })
})

test('a stopped worker sends no heartbeat', async () => {
  const { clock, holding, heartbeats, seen } = holdingOf()
  await holding.sure()
  await holding.stop()
  await clock.advance(20_000)
  expect([heartbeats.length, seen.lost]).toEqual([1, 0])
})
