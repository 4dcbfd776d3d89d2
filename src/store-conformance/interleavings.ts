/**
 * Random sequences of commands. A store applies `decide` to its records, so a map of records to which `decide` is applied says
 * what it must answer. All durations are nothing or an hour, so that no answer depends on when a command ran.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { AnswerOf, Command, Outcome, Settle } from '../messages/commands.ts'
import { decide } from '../messages/decide.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { MessageRecord } from '../messages/record.ts'
import { retentionOf } from '../messages/retention.ts'
import { deadLetterOf, eventOf, type FoundEvent } from '../messages/views.ts'
import { admitting, digestOf, keyOf, LONG_MS, sample } from './samples.ts'
import { sent } from './sends.ts'
import { itemsOf, recordOf, until, type Fixture } from './suite.ts'
import { systemClock } from '../runtime/clock.ts'
import { retentionSchema } from '../stores/retention-options.ts'

const { now } = systemClock()

const MESSAGES = 2
const PLACES = 6
const KEYS = Array.from({ length: MESSAGES }, (_, message) => keyOf(`m${message}`))
/** Small, so that lists have several pages. */
const PAGE_SIZE = 2

/** Repeated, to make these steps more likely. */
const STEPS = [
  ...['admit', 'admit', 'admit', 'lease', 'lease', 'lease', 'settle', 'settle', 'settle', 'settle'],
  ...['settle again', 'resolve', 'resolve', 'expect', 'overdue', 'end', 'erase', 'expire', 'list', 'restart'],
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

/** Asserts that a fresh store answers as the map does. Calls `onFreshStore` for each run. */
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
function eventAt(number: number): NewEvent {
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
    reorderWaitMs: LONG_MS,
  })
}

const WORLD = new Map(
  Array.from({ length: MESSAGES * PLACES }, (_, number) => eventAt(number)).map((event) => [event.id, event]),
)

function pick<T>(list: readonly T[], dice: number): T | undefined {
  return list[dice % Math.max(1, list.length)]
}

/** What a store must answer: `decide`, applied to records in a map. */
function createExpected() {
  const records = new Map<string, MessageRecord>()
  const payloads = new Map<string, string | undefined>()
  const retention = retentionOf(retentionSchema.parse({}))

  function apply<C extends Command>(command: C): AnswerOf<C> {
    const { key } = command
    const nowMs = now()
    const kept = [...(records.get(key)?.waiting ?? []), ...(records.get(key)?.dead ?? [])].map(({ id }) => id)
    const about = { nowMs, trustedMs: nowMs, worker: 'w', retention, isFull: false, kept, payload: undefined }
    const { answer, record, payloads: changes = [] } = decide(records.get(key), command, about)
    if (record === null) records.delete(key)
    else if (record !== undefined) records.set(key, record)
    for (const change of changes) payloads.set(change.id, change.becomes === 'dead' ? change.error : undefined)
    return answer
  }

  /** Every event in the records, with its payload if it is unsettled. */
  function found(): readonly FoundEvent[] {
    return [...records].flatMap(([key, record]) =>
      [...record.waiting, ...record.dead, ...record.settled].map(({ id }): FoundEvent => {
        const event = WORLD.get(id)
        const payload = event && { id, record: event.record, raw: event.raw, error: payloads.get(id) }
        return { key, id, atMs: 0, record, payload }
      }),
    )
  }

  return { records, apply, found }
}

type Expected = ReturnType<typeof createExpected>

function countsOf({ records }: Expected) {
  const all = [...records.values()]
  const unsettled = all.reduce((sum, { waiting }) => sum + waiting.length, 0)
  return { unsettled, deadLetters: all.reduce((sum, { dead }) => sum + dead.length, 0) }
}

/** What two stores must agree on, without times and without what a store may drop of a settled event. */
function comparable(record: MessageRecord | undefined) {
  const { tokens = 0, dispatchedUpTo = '', latest, waiting = [], dead = [], settled = [], send } = record ?? {}
  return {
    tokens: waiting.length > 0 ? tokens : undefined,
    dispatchedUpTo,
    latest,
    waiting: waiting.map(({ dueMs: _, admittedAtMs, ...entry }) => ({ ...entry, hasTime: admittedAtMs > 0 })),
    dead: dead.map(({ id, attempts, late }) => [id, attempts, late]),
    settled: settled.map(({ id }) => id).toSorted(),
    send: send && [send.expectation, send.wasOverdue, send.overdueAtMs === undefined],
  }
}

function createPlay({ open: opened, reopen, capabilities }: Pick<Fixture, 'open' | 'reopen' | 'capabilities'>) {
  const expected = createExpected()
  let open = opened
  /** Settlements of leases that were granted, and some that were used. */
  let held: Settle[] = []
  let used: Settle[] = []

  async function run<C extends Command>(command: C): Promise<AnswerOf<C> | undefined> {
    const [answer] = await open.run([command])
    return answer
  }

  async function settle(settlement: Settle): Promise<void> {
    used = [...used, settlement].slice(-4)
    held = held.filter(({ token, key }) => token !== settlement.token || key !== settlement.key)
    const { held: isHeld, nextInMs } = expected.apply(settlement)
    const answer = await run(settlement)
    assert.equal(answer?.held, isHeld)
    assert.equal(waitOf(answer.nextInMs), waitOf(nextInMs))
  }

  async function lease(key: string, forMs: number): Promise<void> {
    const granted = expected.apply({ do: 'lease', key, forMs })
    let answer = await run({ do: 'lease', key, forMs })
    // The clock of a server may be read a little late.
    if (granted !== undefined)
      await until('a due event is leased', async () => {
        answer ??= await run({ do: 'lease', key, forMs })
        return answer !== undefined
      })
    const { payload, ...rest } = answer ?? {}
    assert.deepEqual(answer === undefined ? undefined : rest, granted)
    if (granted === undefined) return
    const event = WORLD.get(granted.id)
    assert.deepEqual([payload?.record, payload?.raw], [event?.record, event?.raw])
    held.push({ do: 'settle', key, id: granted.id, token: granted.token, outcome: 'done' })
  }

  async function step({ what, dice }: Step): Promise<void> {
    const [first = 0, second = 0] = dice
    const number = first % MESSAGES
    const key = KEYS[number] ?? ''
    switch (what) {
      case 'admit': {
        const commands = dice.slice(0, 1 + (first % 4)).map((of) => admitting(eventAt(of)))
        const answers = await open.run(commands)
        assert.deepEqual(
          answers,
          commands.map((command) => expected.apply(command)),
        )
        break
      }
      case 'lease':
        await lease(key, second % 3 === 0 ? 0 : LONG_MS)
        break
      case 'settle': {
        const lease = pick(held, first)
        const inMs = second % 8 < 4 ? 0 : LONG_MS
        const error = `no \u0000 ${first}`
        const outcomes: readonly Outcome[] = [
          { outcome: 'done' },
          { outcome: 'retry', inMs },
          { outcome: 'release', inMs },
          { outcome: 'dead', error },
        ]
        if (lease === undefined) break
        const { do: _, key: of, id, token } = lease
        await settle({ do: 'settle', key: of, id, token, ...(pick(outcomes, second) ?? { outcome: 'done' }) })
        break
      }
      case 'settle again': {
        const settlement = pick(used, first)
        if (settlement !== undefined) await settle(settlement)
        break
      }
      case 'resolve': {
        const id = pick(expected.records.get(key)?.dead ?? [], second)?.id ?? digestOf('nothing')
        const as = pick(['replay', 'replay', 'force', 'discard'] as const, second) ?? 'replay'
        await same({ do: 'resolve', key, id, as })
        break
      }
      case 'expect':
        await same({ do: 'expect', key, send: sent(`m${number}`, { meta: `\u0000 ${first}` }) })
        break
      case 'overdue': {
        const { record, ...event } = sample({ message: `m${number}`, name: `overdue m${number}` })
        const { report: _, ...rest } = record
        if (WORLD.get(event.id) === undefined) WORLD.set(event.id, { ...event, order: '', record: rest })
        await same({ do: 'overdue', key, event: { ...event, order: '', record: rest } })
        break
      }
      case 'end':
        if (second % 2 === 0) await same({ do: 'endSend', key, rest: sent(`m${number}`).expectation })
        break
      case 'erase': {
        if (second % 3 > 0) break
        const counts = expected.apply({ do: 'erase', key, dryRun: false })
        const answer = await run({ do: 'erase', key, dryRun: false })
        // A store may have dropped the payloads of settled events.
        assert.deepEqual({ ...answer, events: 0 }, { ...counts, events: 0 })
        break
      }
      case 'expire':
        await run({ do: 'expire', key })
        expected.apply({ do: 'expire', key })
        break
      case 'list':
        await checkLists()
        break
      case 'restart':
        if (!capabilities.durable) break
        // A store may end the leases of a process that closes it, so end them first.
        for (const { do: _, key: of, id, token } of held)
          await settle({ do: 'settle', key: of, id, token, outcome: 'release', inMs: 0 })
        open = await reopen()
    }
    assert.deepEqual(await open.counts(), countsOf(expected))
  }

  /** Asserts that the store answers what `decide` does. */
  async function same(command: Command): Promise<void> {
    assert.deepEqual(await run(command), expected.apply(command))
  }

  async function checkLists(): Promise<void> {
    for (const key of KEYS)
      assert.deepEqual(comparable(await recordOf(open, key)), comparable(expected.records.get(key)))
    const found = expected.found()
    const letters = await itemsOf(open, { of: 'deadLetters', after: undefined, limit: PAGE_SIZE })
    assert.deepEqual(
      letters.map(({ id, error, attempts }) => `${id} ${attempts} ${error}`).toSorted(),
      found
        .flatMap((one) => {
          const letter = deadLetterOf(one)
          return letter === undefined ? [] : [`${letter.id} ${letter.attempts} ${letter.error}`]
        })
        .toSorted(),
    )
    const listed = await itemsOf(open, { of: 'events', after: undefined, limit: PAGE_SIZE })
    assert.equal(new Set(listed.map(({ id }) => id)).size, listed.length, 'each is listed once')
    const byId = new Map(listed.map((event) => [event.id, event]))
    for (const one of found) {
      const event = eventOf(one)
      // A store may list no event of which it keeps nothing but the identity.
      if (event === undefined || event.state === 'settled') continue
      const { state, late, attempts, record, raw } = event
      const is = byId.get(one.id)
      assert.deepEqual([is?.state, is?.late, is?.attempts, is?.record], [state, late, attempts, record])
      assert.deepEqual(is?.raw && Buffer.from(is.raw), raw)
    }
  }

  /** Asserts that every event is dispatched in the end. */
  async function finish(): Promise<void> {
    await checkLists()
    for (const settlement of held) await settle(settlement)
    assert.deepEqual(await open.counts(), countsOf(expected))
  }

  return { step, finish }
}

/** Durations are nothing or an hour. */
function waitOf(ms: number | undefined): string {
  return ms === undefined ? 'none' : ms > LONG_MS / 2 ? 'an hour' : 'nothing'
}
