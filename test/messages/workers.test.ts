/**
 * Three workers and one message, in any interleaving: each decides about the record as it last saw it, and writes if the version is
 * unchanged. Answers are lost, workers die, and a heartbeat releases what a worker does not have in flight.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AnswerOf, Command, Granted, Outcome } from '../../src/messages/commands.ts'
import { decide } from '../../src/messages/decide.ts'
import type { MessageRecord } from '../../src/messages/record.ts'
import { frozen, KEY, LEASE_MS } from './message.ts'
import { NOW_MS, report, RETENTION } from './records.ts'

const EVENTS = 6

const worker = fc.nat(2)
/** What becomes of a write. `lost`: it is applied, and its answer is lost. `refused`: it never reaches the store. */
const fate = fc.constantFrom('answered', 'answered', 'answered', 'lost', 'refused')
const outcome = fc.constantFrom<Outcome>(
  { outcome: 'done' },
  { outcome: 'retry', inMs: 0 },
  { outcome: 'release', inMs: 0 },
  { outcome: 'dead', error: 'no' },
)
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('admit' as const),
      worker,
      fate,
      at: fc.integer({ min: 1, max: EVENTS }),
      leases: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('lease' as const), worker, fate }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('settle' as const), worker, fate, outcome }) },
  fc.record({ what: fc.constant('beat' as const), worker, fate }),
  fc.record({ what: fc.constant('die' as const), worker }),
  fc.record({ what: fc.constant('pass' as const) }),
  fc.record({ what: fc.constant('replay' as const), worker, fate }),
)
type Fate = 'answered' | 'lost' | 'refused'

interface Stored {
  readonly version: number
  readonly record: MessageRecord | undefined
}

interface Attempt extends Granted {
  readonly untilMs: number
  /** Its handlers have ended, and it settles until it gets an answer. */
  hasEnded: boolean
}

function createWorld() {
  let nowMs = NOW_MS
  let stored: Stored = { version: 0, record: undefined }
  let versions = 0
  const acknowledged = new Set<string>()
  const ran = new Set<string>()
  let furthest = ''
  const workers = [0, 1, 2].map((number) => createWorker(number))

  /** Sees what is stored when it reads, and decides from that until a write is refused. */
  function createWorker(number: number) {
    let name = `worker ${number}.0`
    let lives = 1
    let seen: Stored | undefined
    /** Undefined: nothing in flight here. The handlers of an expired lease are aborted. */
    let inFlight: Attempt | undefined

    function run<C extends Command>(command: C, given: Fate): AnswerOf<C> | undefined {
      for (;;) {
        const before = (seen ??= stored)
        const about = {
          nowMs,
          trustedMs: nowMs,
          worker: name,
          retention: RETENTION,
          isFull: false,
          kept: [],
          payload: undefined,
        }
        const { answer, record } = decide(frozen(before.record), command, about)
        if (given === 'refused') return undefined
        if (record === undefined && before === stored) return answer
        if (before !== stored) {
          // Another worker has written meanwhile, or nothing would be written from what may be outdated.
          seen = undefined
          continue
        }
        versions += 1
        stored = { version: versions, record: record ?? undefined }
        // A worker without an answer reads again.
        seen = given === 'answered' ? stored : undefined
        return given === 'answered' ? answer : undefined
      }
    }

    function start(granted: Granted | undefined): void {
      if (granted === undefined) return
      for (const other of workers) expect(other.isRunning(), 'one at a time').toBe(false)
      const { order } = report(Number(granted.id.slice('event-'.length)))
      if (!granted.late && !granted.replay) expect(order >= furthest, 'never backwards').toBe(true)
      if (order > furthest) furthest = order
      inFlight = { ...granted, untilMs: nowMs + LEASE_MS, hasEnded: false }
      ran.add(granted.id)
    }

    return {
      isRunning: (): boolean => inFlight?.hasEnded === false && inFlight.untilMs > nowMs,
      admit(at: number, leases: boolean, given: Fate): void {
        const event = report(at)
        const leaseForMs = leases && inFlight === undefined ? LEASE_MS : undefined
        const admitted = run({ do: 'admit', key: KEY, event, leaseForMs }, given)
        if (admitted === undefined) return
        acknowledged.add(event.id)
        if (admitted.admission === 'late') expect(event.order < (stored.record?.dispatchedUpTo ?? '')).toBe(true)
        start(admitted.granted)
      },
      lease(given: Fate): void {
        if (inFlight === undefined) start(run({ do: 'lease', key: KEY, forMs: LEASE_MS }, given))
      },
      settle(settled: Outcome, given: Fate): void {
        if (inFlight === undefined) return
        inFlight.hasEnded = true
        const { id, token } = inFlight
        const last = stored.record?.waiting.find((entry) => entry.id === id)?.token
        const answer = run({ do: 'settle', key: KEY, id, token, ...settled }, given)
        if (answer === undefined) return
        if (answer.held) expect(token, 'only the last attempt settles').toBe(last)
        inFlight = undefined
      },
      beat(given: Fate): void {
        const lease = stored.record?.lease
        if (lease?.worker !== name || lease.token === inFlight?.token) return
        run({ do: 'release', key: KEY, worker: name, token: lease.token }, given)
      },
      /** Its name never returns, and the others release its lease. */
      die(): void {
        const dead = name
        name = `worker ${number}.${lives}`
        lives += 1
        inFlight = undefined
        const [other] = workers.filter((one) => one !== workers[number])
        other?.release(dead)
        seen = undefined
      },
      release: (dead: string): void => void run({ do: 'release', key: KEY, worker: dead }, 'answered'),
      replay(given: Fate): void {
        const id = stored.record?.dead[0]?.id
        if (id !== undefined) run({ do: 'resolve', key: KEY, id, as: 'replay' }, given)
      },
    }
  }

  return {
    workers,
    acknowledged,
    ran,
    get record() {
      return stored.record
    },
    pass(ms: number): void {
      nowMs += ms
    },
  }
}

test('each event runs at least once, one at a time and never backwards', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const world = createWorld()
      for (const each of steps) {
        if (each.what === 'pass') {
          world.pass(LEASE_MS)
          continue
        }
        const one = world.workers[each.worker]
        if (one === undefined) throw new Error('There are three workers.')
        if (each.what === 'admit') one.admit(each.at, each.leases, each.fate)
        else if (each.what === 'settle') one.settle(each.outcome, each.fate)
        else if (each.what === 'die') one.die()
        else one[each.what](each.fate)
      }
      const [one] = world.workers
      for (let rounds = 0; rounds < 3 * EVENTS; rounds += 1) {
        world.pass(LEASE_MS)
        for (const each of world.workers) {
          each.beat('answered')
          each.settle({ outcome: 'done' }, 'answered')
        }
        one?.replay('answered')
        one?.lease('answered')
        one?.settle({ outcome: 'done' }, 'answered')
      }
      expect(world.record?.waiting ?? []).toEqual([])
      const settled = new Set(world.record?.settled.map(({ id }) => id))
      for (const id of world.acknowledged) expect([settled.has(id), world.ran.has(id)], id).toEqual([true, true])
    }),
    { numRuns: 500 },
  )
})
