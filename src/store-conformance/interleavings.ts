/** Random sequences of operations, checked step by step against the model. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Claim, ClaimRequest, NewEvent, Settlement } from '../inbox/store.ts'
import { createModel, type Model } from './model.ts'
import { allOf, digestOf, LEASE_MS, list, sample, settlementOf, START_MS, type Outcome } from './samples.ts'
import { deadLettersOf, DONE, type Fixture } from './suite.ts'

const MESSAGES = 2
const PLACES = 6
const KEYS = Array.from({ length: MESSAGES }, (_, message) => digestOf(`message m${message}`))
/** Small, so that lists have several pages. */
const PAGE = 2

/** Repeated, to make these steps more likely. */
const STEPS = [
  ...['admit', 'admit and claim', 'admit and claim', 'claim', 'claim', 'claim', 'settle', 'settle', 'settle'],
  ...['settle again', 'crash', 'wait', 'wait', 'resolve', 'resolve', 'erase', 'list', 'restart'],
]

interface Step {
  readonly what: string
  /** Random numbers; each step uses as many as it needs. */
  readonly dice: readonly number[]
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    what: fc.constantFrom(...STEPS),
    dice: fc.array(fc.nat({ max: 59 }), { minLength: 8, maxLength: 8 }),
  }),
  // By default most sequences would be too short to reach rare states.
  { minLength: 1, maxLength: 60, size: 'max' },
)

/** Asserts that a fresh store and the model agree on every step. Calls `onFreshStore` for each run. */
export async function checkInterleavings(
  onFreshStore: (run: (fixture: Fixture) => Promise<void>) => Promise<void>,
  runs: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) =>
      onFreshStore(async (fixture) => {
        const play = createPlay(fixture)
        for (const step of sequence) await play.step(step)
        await play.finish()
      }),
    ),
    { numRuns: runs },
  )
}

/** Event number `number` of a fixed set of messages, each with its own place, kind and reorder wait. */
function eventOf(number: number, gapUntilMs: number): NewEvent {
  const message = number % MESSAGES
  const place = Math.floor(number / MESSAGES) % PLACES
  return sample({
    message: `m${message}`,
    // Two reports of one message have equal time and rank.
    at: place === 4 ? 3 : place,
    name: `m${message}-${place}`,
    final: place === 3 || place === 4,
    step: place === 1 ? 1 : place === 2 ? 2 : 0,
    awaits: place === 2 ? 1 : place === 5 ? 2 : 0,
    gapUntilMs,
  })
}

const WORLD = new Map(
  Array.from({ length: MESSAGES * PLACES }, (_, number) => eventOf(number, START_MS)).map((event) => [event.id, event]),
)

function pick<T>(list: readonly T[], dice: number): T | undefined {
  return list[dice % Math.max(1, list.length)]
}

function payloadOf({ id }: Pick<NewEvent, 'id'>) {
  return { record: WORLD.get(id)?.record, raw: WORLD.get(id)?.raw }
}

function createPlay({ open: opened, reopen, capabilities }: Pick<Fixture, 'open' | 'reopen' | 'capabilities'>) {
  const model: Model = createModel()
  let open = opened
  /** Claims of live workers, and of workers presumed dead that may still answer. */
  let held: Claim[] = []
  let settled: Settlement[] = []
  let nowMs = START_MS
  /** Time of the last call with a write. */
  let lastNowMs = 0

  function requestOf(limit: number, dice: number): ClaimRequest {
    const exclude = new Set(dice % 5 === 0 ? KEYS.slice(0, 1) : [])
    return { limit, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude }
  }

  function hold(claims: readonly Claim[]): void {
    held.push(...claims)
    if (claims.length > 0) lastNowMs = nowMs
    for (const claim of claims) assert.deepEqual({ record: claim.record, raw: claim.raw }, payloadOf(claim))
  }

  /** Asserts that the stored time is accurate to a second. */
  function assertLatest(latestMs: number): void {
    assert.ok(
      latestMs > lastNowMs - 1_000 && latestMs <= nowMs,
      `the store was passed ${lastNowMs} and returns ${latestMs}`,
    )
  }

  async function step({ what, dice }: Step): Promise<void> {
    const [first = 0, second = 0] = dice
    switch (what) {
      case 'admit':
      case 'admit and claim': {
        lastNowMs = nowMs
        const events = dice.slice(0, 1 + (first % 4)).map((number) => eventOf(number, nowMs + 1_000))
        if (what === 'admit' || open.admitAndClaim === undefined) {
          assert.deepEqual(await open.admit(events, nowMs), model.admit(events, nowMs))
          break
        }
        const request = requestOf(second % 3, second)
        const result = await open.admitAndClaim(events, request)
        assert.deepEqual(result.admissions, model.admit(events, nowMs))
        model.checkClaimOfAdmitted(events, request, result)
        hold(result.claims)
        break
      }
      case 'claim': {
        const request = requestOf(1 + (first % 3), second)
        const result = await open.claim(request)
        model.checkClaim(request, result)
        hold(result.claims)
        break
      }
      case 'settle': {
        const claim = pick(held, first)
        if (claim === undefined) break
        held = held.filter((other) => other !== claim)
        // Half of the retries are due at once.
        const dueMs = nowMs + (second % 8 < 4 ? 700 : 0)
        const error = `no \u0000 ${first}`
        const outcomes: readonly Outcome[] = [
          DONE,
          { outcome: 'retry', dueMs, error },
          { outcome: 'release', dueMs },
          { outcome: 'dead', error },
        ]
        await settle(claim, pick(outcomes, second) ?? DONE, second % 3 === 0)
        break
      }
      case 'settle again': {
        const settlement = pick(settled, first)
        if (settlement !== undefined)
          assert.deepEqual(await open.settle([settlement], nowMs), [model.settle(settlement, nowMs)])
        break
      }
      case 'crash':
        held = []
        break
      case 'restart':
        if (!capabilities.durable) break
        // A store may end the leases of a process that closes it, or let them expire.
        held = []
        settled = []
        open = await reopen()
        if (lastNowMs > 0 && open.latestNowMs !== undefined) assertLatest(open.latestNowMs)
        nowMs += LEASE_MS
        break
      case 'wait':
        nowMs += pick([1, 1_000, LEASE_MS, LEASE_MS], first) ?? 1
        break
      case 'resolve': {
        const { id } = pick(model.deadLetters(), first) ?? { id: digestOf('nothing') }
        const resolution = pick(['replay', 'replay', 'force', 'discard'] as const, second) ?? 'replay'
        assert.equal(await open.resolve(id, resolution, nowMs), model.resolve(id, resolution, nowMs))
        break
      }
      case 'erase': {
        const messageKey = pick(KEYS, first) ?? ''
        if (second % 3 > 0) break
        await open.forget({ targets: [{ messageKey }], dryRun: false }, nowMs)
        await open.eraseTraces?.()
        model.erase(messageKey)
        break
      }
      case 'list':
        await checkLists()
    }
    await check()
  }

  async function settle(claim: Claim, outcome: Outcome, isDeferrable = false): Promise<void> {
    const settlement = settlementOf(claim, outcome)
    settled = [...settled, settlement].slice(-4)
    lastNowMs = nowMs
    assert.deepEqual(await open.settle([settlement], nowMs, isDeferrable), [model.settle(settlement, nowMs)])
  }

  async function check(): Promise<void> {
    assert.deepEqual(await open.counts(), { unsettled: model.unsettled(), deadLetters: model.deadLetters().length })
    for (const key of KEYS) {
      const latest = await open.latest(key)
      const expected = model.latest(key)
      const recordOf = (order: string) => WORLD.get(order.slice(-key.length))?.record
      assert.deepEqual(
        latest && { newest: latest.record, finals: latest.finals },
        expected && { newest: recordOf(expected.newest), finals: expected.finals.map(recordOf) },
      )
    }
  }

  async function checkLists(): Promise<void> {
    const letters = await deadLettersOf(open, PAGE)
    for (const [index, { diedAtMs }] of letters.entries())
      assert.ok(diedAtMs >= (letters[index - 1]?.diedAtMs ?? 0), 'oldest first')
    const expectedLetters = model.deadLetters()
    assert.equal(letters.length, expectedLetters.length, 'each is listed once')
    assert.deepEqual(
      new Map(letters.map((letter) => [letter.id, { ...letter, raw: Buffer.from(letter.raw) }])),
      new Map(expectedLetters.map((letter) => [letter.id, { ...letter, ...payloadOf(letter) }])),
    )
    for (const messageKey of [undefined, ...KEYS]) {
      const all = await allOf((after) => list(open, { messageKey, after, limit: PAGE }))
      const byId = new Map(all.map((event) => [event.id, event]))
      assert.equal(byId.size, all.length, 'each is listed once')
      for (const [id, expected] of model.listed(messageKey, nowMs)) {
        const event = byId.get(id)
        assert.ok(event, 'it is listed')
        assert.deepEqual({ ...event, ...expected }, event)
        if (event.state !== 'settled')
          assert.deepEqual({ record: event.record, raw: event.raw && Buffer.from(event.raw) }, payloadOf({ id }))
      }
    }
  }

  /** Asserts that every event is dispatched in the end. */
  async function finish(): Promise<void> {
    await checkLists()
    nowMs += 2 * LEASE_MS
    for (let rounds = 0; rounds < 100 && model.unsettled() > 0; rounds += 1) {
      const request = requestOf(100, 1)
      const result = await open.claim(request)
      model.checkClaim(request, result)
      for (const claim of result.claims) await settle(claim, DONE)
      nowMs += 1_000
    }
    assert.equal(model.unsettled(), 0)
    await check()
    await checkLists()
  }

  return { step, finish }
}
