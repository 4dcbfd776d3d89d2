/** Random interleavings of everything that can happen, held against the plain model step by step. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Claim, ClaimRequest, NewEvent, OpenStore } from '../inbox/store.ts'
import { createModel, type Model } from './model.ts'
import { digestOf, LEASE_MS, sample, settlementOf, START_MS } from './samples.ts'

const MESSAGES = 2
const PLACES = 6

interface Step {
  readonly what: 'admit' | 'admit and claim' | 'claim' | 'settle' | 'forget' | 'wait' | 'replay'
  /** Drawn at random; each step uses as much of it as it needs. */
  readonly dice: readonly number[]
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    what: fc.constantFrom(
      'admit',
      'admit and claim',
      'admit and claim',
      'claim',
      'claim',
      'settle',
      'settle',
      'forget',
      'wait',
      'replay',
    ),
    dice: fc.array(fc.nat({ max: 59 }), { minLength: 8, maxLength: 8 }),
  }),
  // Without a size, most sequences would be too short to meet anything rare.
  { minLength: 1, maxLength: 60, size: 'max' },
)

/** Asserts that a fresh store and the model agree about every step. `makeOpen` is called for each run. */
export async function checkInterleavings(
  makeOpen: () => Promise<{ readonly open: OpenStore<object>; readonly close: () => Promise<void> }>,
  runs: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { open, close } = await makeOpen()
      try {
        const play = createPlay(open)
        for (const step of sequence) await play.step(step)
        await play.finish()
      } finally {
        await close()
      }
    }),
    { numRuns: runs },
  )
}

/** Event number `number` of a fixed world of messages, each with a place, a kind and a gap of its own. */
function eventOf(number: number, gapUntilMs: number): NewEvent {
  const message = number % MESSAGES
  const place = Math.floor(number / MESSAGES) % PLACES
  return sample({
    message: `m${message}`,
    at: place,
    final: place === 3 || place === 4,
    step: place === 1 ? 1 : place === 2 ? 2 : 0,
    awaits: place === 2 ? 1 : place === 5 ? 2 : 0,
    gapUntilMs,
  })
}

function createPlay(open: OpenStore<object>) {
  const model: Model = createModel()
  /** Claims in somebody's hands, and those of holders that were given up for dead but may still come back. */
  let held: Claim[] = []
  let nowMs = START_MS

  function requestOf(limit: number, dice: number): ClaimRequest {
    const exclude = new Set(dice % 5 === 0 ? [digestOf('message m0')] : [])
    return { limit, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude }
  }

  async function step({ what, dice }: Step): Promise<void> {
    const [first = 0, second = 0] = dice
    switch (what) {
      case 'admit':
      case 'admit and claim': {
        const events = dice.slice(0, 1 + (first % 4)).map((number) => eventOf(number, nowMs + 1_000))
        if (what === 'admit' || open.admitAndClaim === undefined) {
          assert.deepEqual(await open.admit(events, nowMs), model.admit(events, nowMs))
          break
        }
        const request = requestOf(second % 3, second)
        const result = await open.admitAndClaim(events, request)
        assert.deepEqual(result.admissions, model.admit(events, nowMs))
        model.checkClaimOfAdmitted(events, request, result)
        held.push(...result.claims)
        break
      }
      case 'claim': {
        const request = requestOf(1 + (first % 3), second)
        const result = await open.claim(request)
        model.checkClaim(request, result)
        held.push(...result.claims)
        break
      }
      case 'settle': {
        const claim = held[first % Math.max(1, held.length)]
        if (claim === undefined) break
        held = held.filter((other) => other !== claim)
        await settle(claim, second)
        break
      }
      case 'forget':
        held = []
        break
      case 'wait':
        nowMs += [1, 1_000, LEASE_MS, LEASE_MS][first % 4] ?? 1
        break
      case 'replay': {
        const ids = model.deadIds()
        const id = ids[first % Math.max(1, ids.length)] ?? digestOf('nobody')
        assert.equal(await open.resolve(id, 'replay', nowMs), model.replay(id, nowMs))
      }
    }
    await check()
  }

  async function settle(claim: Claim, dice: number): Promise<void> {
    // Of what is due again, half is due at once.
    const dueMs = nowMs + (dice % 8 < 4 ? 700 : 0)
    const outcome =
      dice % 4 === 0
        ? ({ outcome: 'done' } as const)
        : dice % 4 === 1
          ? ({ outcome: 'retry', dueMs, error: 'no' } as const)
          : dice % 4 === 2
            ? ({ outcome: 'unbegun', dueMs } as const)
            : ({ outcome: 'dead', error: 'no' } as const)
    const settlement = settlementOf(claim, outcome)
    assert.deepEqual(await open.settle([settlement], nowMs), [model.settle(settlement, nowMs)])
  }

  async function check(): Promise<void> {
    const deadIds = model.deadIds()
    assert.deepEqual(await open.counts(), { unsettled: model.unsettled(), deadLetters: deadIds.length })
    for (let message = 0; message < MESSAGES; message += 1) {
      const key = digestOf(`message m${message}`)
      const latest = await open.latest(key)
      const expected = model.latest(key)
      const name = (order: string): string => `m${message}-${Number(order.slice(0, 12)) - 1_700_000_000}`
      assert.deepEqual(
        latest && { newest: latest.record.report?.status, finals: latest.finals.map(({ report }) => report?.status) },
        expected && { newest: name(expected.newest), finals: expected.finals.map(name) },
      )
    }
  }

  /** Whatever happened, in the end everything is handed over. */
  async function finish(): Promise<void> {
    nowMs += 2 * LEASE_MS
    for (let rounds = 0; rounds < 100 && model.unsettled() > 0; rounds += 1) {
      const request = { limit: 100, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: new Set<string>() }
      const result = await open.claim(request)
      model.checkClaim(request, result)
      for (const claim of result.claims) await settle(claim, 0)
      nowMs += 1_000
    }
    assert.equal(model.unsettled(), 0)
    await check()
  }

  return { step, finish }
}
