import fc from 'fast-check'
import type { MessageState, ReportEvent } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { arrivalsOf, isBefore, isOlder, messageStates, type Arrival, type State } from '../support/message-states.ts'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'
import { permutations } from '../support/vectors.ts'

/** From a failure that may pass: without a recorded send, every failure is final. */
const FINAL = 2
/** The clock time of one run of the property, whatever its delays: enough for every reorder wait and every retry. */
const RUN_MS = 120_000

const scenarios = messageStates.chain((states) =>
  fc.record({
    states: fc.constant(states),
    arrivals: fc.tuple(arrivalsOf(states), arrivalsOf(states)),
    /** How often the handlers fail for each state before they succeed. */
    failures: fc.array(fc.nat({ max: 3 }), { minLength: states.length, maxLength: states.length }),
    signed: fc.boolean(),
  }),
)
type Scenario = typeof scenarios extends fc.Arbitrary<infer T> ? T : never

interface Run {
  readonly state: State
  readonly late: boolean
  readonly succeeded: boolean
}

test('nothing is lost, repeated or dispatched backwards, whatever the order, repetition, delays and failures', async () => {
  const playOne = await player()
  const playOther = await player()
  let messages = 0
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      const messageId = `message-${(messages += 1)}`
      const [first, second] = scenario.arrivals
      const one = await playOne(messageId, scenario, first)
      const other = await playOther(messageId, scenario, second)
      expect(one).toEqual(other)
    }),
    { numRuns: 150 },
  )
})

/** Plays arrivals against its own receiver, checks what its handlers saw, and returns how the message ended. */
async function player() {
  const clock = fakeClock(1_700_000_000_000)
  const runs: Run[] = []
  let nameOf = (_report: ReportEvent): string => ''
  let scenario: Scenario | undefined
  const { receiver, url } = await receiving({
    clock,
    networks: { 'carrier-a': 'carrierA', 'carrier-b': 'carrierB' },
    retry: { attempts: 10, initialDelayMs: 800 },
  })
  function run(report: ReportEvent, attempt: number, late: boolean): void {
    const name = nameOf(report)
    const index = scenario?.states.findIndex((state) => state.name === name) ?? -1
    const state = scenario?.states[index]
    if (state === undefined) throw new Error(`Unknown event ${name}.`)
    const succeeded = attempt > (scenario?.failures[index] ?? 0)
    runs.push({ state, late, succeeded })
    if (!succeeded) throw new Error('not yet')
  }
  receiver.on('message.*', (event, { attempt }) => run(event, attempt, false))
  receiver.on('late', ({ report: late }, { attempt }) => run(late, attempt, true))

  return async (messageId: string, played: Scenario, arrivals: readonly Arrival[]): Promise<unknown> => {
    const startMs = clock.now()
    const start = startMs / 1_000
    const { states, signed } = played
    const hasTimes = signed || states.every(({ name, word }) => name !== word)
    scenario = played
    nameOf = (report) =>
      report.timestampSource === 'payload' && report.timestamp !== undefined
        ? `${wordOf(report)} at ${report.timestamp - start}`
        : wordOf(report)
    runs.length = 0
    for (const { state, delayMs } of arrivals) {
      await clock.advance(delayMs)
      const body = { ...state.body(messageId, start), authKey: AUTH_KEY }
      const response = signed
        ? await post(url, body, { timestamp: start + state.at })
        : await fetch(url, { method: 'POST', body: JSON.stringify(body) })
      expect(response.status).toBe(204)
    }
    await clock.advance(startMs + RUN_MS - clock.now())
    expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
    const succeeded = runs.filter((each) => each.succeeded).map(({ state }) => state.name)
    expect(succeeded.sort()).toEqual(states.map(({ name }) => name).sort())
    expectForwards()
    const latest = await receiver.messageState(messageId)
    const newest = states.filter((state) => !states.some((other) => isBefore(state, other, hasTimes)))
    expect(newest.map(({ word }) => word)).toContain(latest && wordOf(latest))
    expect(latest?.reports.length).toBe(states.filter(({ stage }) => stage >= FINAL).length)
    return withoutArrival(latest)
  }

  /** A run is late exactly if something newer ran before it. */
  function expectForwards(): void {
    for (const [index, { state, late }] of runs.entries())
      expect(runs.slice(0, index).some(({ state: other }) => isOlder(state, other))).toBe(late)
  }
}

function wordOf({ status, statusCode }: { readonly status?: string; readonly statusCode?: number }): string {
  return status ?? String(statusCode)
}

/** Only the arrival time may depend on the order. */
function withoutArrival(latest: MessageState | undefined): unknown {
  return JSON.parse(JSON.stringify(latest, (name, value: unknown) => (name === 'receivedAt' ? undefined : value)))
}

test('chat-app reports that only the authKey proves end in one state, whatever the order of their arrival', async () => {
  const words = ['queued', 'sent', 'delivered', 'failed', 'read']
  const ends = new Set<string>()
  for (const order of permutations(words.length)) {
    let nowMs = 1_700_000_000_000
    const { receiver } = await receiving({ clock: () => nowMs, ordering: { gapTimeoutMs: 0 } })
    for (const index of order) {
      const statuses = { message_id: 'c-1', status: words[index] }
      const body = Buffer.from(JSON.stringify({ project: 'My Shop', statuses, authKey: AUTH_KEY }))
      expect(await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })).toMatchObject({
        status: 204,
      })
      nowMs += 5_000
    }
    const { status, reports, occurredAt } = (await receiver.messageState('c-1')) ?? {}
    expect(occurredAt).toBeUndefined()
    ends.add(JSON.stringify({ status, reports: reports?.map((report) => report.status) }))
  }
  expect(ends.size).toBe(1)
})
