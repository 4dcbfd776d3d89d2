/**
 * Callbacks keep arriving while the store returns, fails again, hangs and is slow: the spool drains under that load and
 * stays empty. Time and disk are simulated, so the result does not depend on the machine's speed.
 */
import fc from 'fast-check'
import { memoryStore, type MessagingWebhooksError } from 'messaging-webhooks'
import type { NewEvent } from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import type { PackedEvents } from '../../src/local-file/spool-table.ts'
import type { Admitted } from '../../src/messages/commands.ts'
import { sample } from '../../src/store-conformance/samples.ts'
import { fakeClock, type FakeClock } from '../support/fake-clock.ts'
import { inboxOver, quietAvailability } from '../support/inbox.ts'
import { inProcessFile } from '../support/in-process-file.ts'
import { storeAround } from '../support/store-around.ts'

const STORE_TIMEOUT_MS = 2_000
/** A write to the spool's disk takes this long, so something has always arrived for the next write. */
const APPEND_MS = 15
const TICK_MS = 10
const STORE_MS = 5

type Mood = 'well' | 'throws' | 'hangs' | 'does it later' | 'slow'

const sleeper = (clock: FakeClock) => (ms: number) => new Promise<void>((resolve) => void clock.setTimer(resolve, ms))

/** A file on a slow disk: what arrives during a write goes into the next one. */
async function slowFile(clock: FakeClock) {
  const sleep = sleeper(clock)
  const disk = { appended: 0, isFull: false }
  const file = await inProcessFile({
    before(name) {
      if (name !== 'append') return undefined
      if (disk.isFull) return Promise.reject(new Error('no room'))
      return sleep(APPEND_MS)
    },
  })
  const call: typeof file.call = (name, ...args) => {
    const [packed] = args
    if (name === 'append' && isPacked(packed)) disk.appended += packed.lists.length
    return file.call(name, ...args)
  }
  return { file: { ...file, call }, disk }
}

const isPacked = (value: unknown): value is PackedEvents =>
  typeof value === 'object' && value !== null && 'lists' in value

/** What the store has admitted, in order, each once. */
function moodyStore(clock: FakeClock) {
  const sleep = sleeper(clock)
  const state = { mood: 'well' as Mood, slowMs: 400, admitted: [] as NewEvent[], poison: new Set<string>() }
  const known = new Set<string>()
  const whenWell = async (): Promise<void> => {
    while (state.mood !== 'well') await sleep(50)
  }
  const store = storeAround(memoryStore(), {
    async run(commands) {
      const { mood } = state
      if (mood === 'throws') throw new Error('unavailable')
      if (mood === 'hangs') return new Promise(() => {})
      if (mood === 'does it later') await whenWell()
      await sleep(mood === 'slow' ? state.slowMs : STORE_MS)
      const events = commands.flatMap((command) => (command.do === 'admit' ? [command.event] : []))
      if (events.some(({ id }) => state.poison.has(id))) throw new Error('Bad data in the batch.')
      return events.map((event): Admitted => {
        if (known.has(event.id)) return { admission: 'duplicate', granted: undefined }
        known.add(event.id)
        state.admitted.push(event)
        return { admission: 'new', granted: undefined }
      })
    },
  })
  return { store, state }
}

async function opened({ messages = 40 } = {}) {
  const wall = fakeClock()
  const { file, disk } = await slowFile(wall)
  const { store, state } = moodyStore(wall)
  const errors: MessagingWebhooksError[] = []
  const report = (error: MessagingWebhooksError): void => void errors.push(error)
  const availability = quietAvailability(report)
  const inbox = inboxOver(store, {
    ...{ clock: wall, storeTimeoutMs: STORE_TIMEOUT_MS, report, availability },
    localFile: file,
  })
  await inbox.open()
  const arrived: NewEvent[] = []
  const refused: unknown[] = []
  let unanswered = 0
  let longestMs = 0

  async function arrive(): Promise<void> {
    const event = sample({ message: `m${arrived.length % messages}`, at: arrived.length })
    arrived.push(event)
    const fromMs = wall.now()
    unanswered += 1
    try {
      await inbox.admit(event)
    } catch (error) {
      refused.push(error)
    }
    unanswered -= 1
    longestMs = Math.max(longestMs, wall.now() - fromMs)
  }

  /** Callbacks arrive all the time. */
  async function load(ticks: number, aTick = 3): Promise<void> {
    for (let tick = 0; tick < ticks; tick += 1) {
      for (let count = 0; count < aTick; count += 1) void arrive()
      await wall.advance(TICK_MS)
    }
  }

  /** Admitted after a later one of its message. */
  function overtaken(): readonly string[] {
    const places = new Map(arrived.map(({ id }, place) => [id, place]))
    const last = new Map<string, number>()
    return state.admitted.flatMap(({ id, messageKey }) => {
      const place = places.get(id) ?? -1
      const before = last.get(messageKey) ?? -1
      last.set(messageKey, place)
      return place < before ? [id] : []
    })
  }

  return {
    ...{ wall, inbox, availability, file, disk, state, errors, arrived, refused, arrive, load, overtaken },
    get unanswered() {
      return unanswered
    },
    get longestMs() {
      return longestMs
    },
  }
}

type Opened = Awaited<ReturnType<typeof opened>>

/** Everything that arrived is in the store, once and in the order of each message, and was answered in time. */
async function expectAllAccepted(all: Opened): Promise<void> {
  await all.wall.advance(STORE_TIMEOUT_MS)
  expect(all.unanswered).toBe(0)
  expect(all.refused).toEqual([])
  expect(all.overtaken()).toEqual([])
  expect(new Set(all.state.admitted.map(({ id }) => id))).toEqual(new Set(all.arrived.map(({ id }) => id)))
  expect(all.state.admitted).toHaveLength(all.arrived.length)
  expect(all.longestMs).toBeLessThanOrEqual(STORE_TIMEOUT_MS + 10 * APPEND_MS)
}

test('ends an outage under load, although a slow store never catches up with the reports of some messages', async () => {
  const all = await opened()
  all.state.mood = 'throws'
  await all.load(100, 1)
  all.state.mood = 'slow'
  await all.load(500, 1)
  expect(all.availability.isUnavailable).toBe(false)
  all.state.mood = 'well'
  await all.load(200, 1)
  expect(all.inbox.spooled).toBe(0)
  await expectAllAccepted(all)
})

test('sends other messages to the store at once, as soon as it is back', async () => {
  const all = await opened({ messages: 10_000 })
  all.state.mood = 'throws'
  await all.load(500)
  all.state.mood = 'slow'
  for (let tick = 0; tick < 400 && all.state.admitted.length === 0; tick += 1) await all.load(1, 0)
  const { appended } = all.disk
  expect(all.inbox.spooled).toBeGreaterThan(0)
  await all.load(10)
  expect(all.disk.appended - appended).toBeLessThan(5)
  all.state.mood = 'well'
  await all.load(100, 0)
  await expectAllAccepted(all)
})

const flaps = fc.array(
  fc.record({
    mood: fc.constantFrom<Mood>('well', 'throws', 'hangs', 'does it later', 'slow'),
    ticks: fc.integer({ min: 1, max: 120 }),
    aTick: fc.integer({ min: 0, max: 6 }),
  }),
  { minLength: 1, maxLength: 8 },
)

test(
  'however often the store fails, nothing is lost, doubled, overtaken or answered too late',
  { timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(flaps, async (sequence) => {
        const all = await opened({ messages: 7 })
        for (const { mood, ticks, aTick } of sequence) {
          all.state.mood = mood
          await all.load(ticks, aTick)
        }
        all.state.mood = 'well'
        await all.load(800, 2)
        expect(all.inbox.spooled).toBe(0)
        const { appended } = all.disk
        await all.load(100, 2)
        expect(all.disk.appended).toBe(appended)
        await expectAllAccepted(all)
        await all.inbox.close()
      }),
      { numRuns: Number(process.env['RUNS'] ?? '12') },
    )
  },
)
