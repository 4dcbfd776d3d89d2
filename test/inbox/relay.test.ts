/** The way from the spool into the store: nothing is lost, repeated or overtaken, whichever process moves it and whenever it stops. */
import fc from 'fast-check'
import { memoryStore, MessagingWebhooksError } from 'messaging-webhooks'
import type { NewEvent } from 'messaging-webhooks/store'
import { expect, onTestFinished, test } from 'vitest'
import type { LocalFile } from '../../src/local-file/local-file.ts'
import { sample } from '../../src/store-conformance/samples.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { gate } from '../support/gate.ts'
import { inboxOver } from '../support/inbox.ts'
import { inProcessFile } from '../support/in-process-file.ts'
import { ownFolder } from '../support/own-folder.ts'
import { storeAround } from '../support/store-around.ts'

/** A store that several inboxes share, which records what it admits. */
async function sharedStore() {
  const inner = memoryStore()
  const state = { isAway: false, refuses: (_: NewEvent): boolean => false, isFull: (_: NewEvent): boolean => false }
  const admitted: string[] = []
  let reads = 0
  let hold: Promise<unknown> | undefined
  const store = storeAround(inner, {
    async run(commands, go) {
      reads += 1
      await hold
      if (state.isAway) throw new MessagingWebhooksError('store_failed')
      for (const command of commands)
        if (command.do === 'admit' && state.refuses(command.event)) throw new Error('Bad data.')
      const full = commands.map((command) => command.do === 'admit' && state.isFull(command.event))
      const answers = await go()
      if (full.includes(true)) return answers.map(() => ({ admission: 'full', granted: undefined }))
      for (const [index, command] of commands.entries()) {
        const answer = answers[index]
        if (command.do !== 'admit' || typeof answer !== 'object') continue
        if ('admission' in answer && answer.admission !== 'duplicate') admitted.push(command.event.id)
      }
      return answers
    },
  })
  return {
    ...{ store, state, admitted },
    reads: () => reads,
    /** Calls wait for the promise from now on. */
    wait: (until: Promise<unknown>) => void (hold = until),
  }
}

async function inboxOn(file: LocalFile, { store }: Awaited<ReturnType<typeof sharedStore>>) {
  const clock = fakeClock()
  const errors: MessagingWebhooksError[] = []
  const inbox = inboxOver(store, {
    clock,
    storeTimeoutMs: 2_000,
    localFile: file,
    report: (error) => void errors.push(error),
  })
  onTestFinished(() => inbox.close())
  await inbox.open()
  return { inbox, clock, errors }
}

const event = (name: string): NewEvent => sample({ message: name, name })

test('asks an unavailable store less and less often, at least every two seconds, and stops when the inbox closes', async () => {
  const shared = await sharedStore()
  const { inbox, clock } = await inboxOn(await inProcessFile(), shared)
  shared.state.isAway = true
  await inbox.admit(event('a'))
  const asked = async (ms: number): Promise<number> => {
    const before = shared.reads()
    for (let passed = 0; passed < ms; passed += 250) await clock.advance(250)
    return shared.reads() - before
  }
  expect(await asked(4_000)).toBeGreaterThan(3)
  // Two seconds, from one clock step to the next.
  const looks = await asked(60_000)
  expect(looks).toBeGreaterThan(25)
  expect(looks).toBeLessThan(35)
  await inbox.close()
  expect(await asked(60_000)).toBe(0)
})

test('a full store keeps events in the spool, reports that once, and gets them when it has room', async () => {
  const shared = await sharedStore()
  const file = await inProcessFile()
  const { inbox, clock, errors } = await inboxOn(file, shared)
  shared.state.isAway = true
  for (const name of ['a', 'b']) await inbox.admit(event(name))
  shared.state.isAway = false
  shared.state.isFull = () => true
  for (let look = 0; look < 20; look += 1) await clock.advance(1_000)
  expect(errors.map(({ code }) => code)).toEqual(['store_outage', 'store_full'])
  expect(inbox.spooled).toBe(2)
  shared.state.isFull = () => false
  await clock.advance(5_000)
  expect(inbox.spooled).toBe(0)
})

test('an event that the store refuses stays, blocks no other, and is tried again by the next process', async () => {
  const shared = await sharedStore()
  const folder = ownFolder()
  const file = await inProcessFile({ folder })
  const { inbox, clock, errors } = await inboxOn(file, shared)
  shared.state.isAway = true
  for (const name of ['a', 'poison', 'b', 'c']) await inbox.admit(event(name))
  shared.state.isAway = false
  shared.state.refuses = ({ id }) => id === event('poison').id
  await clock.advance(1_000)
  expect(shared.admitted).toEqual(['a', 'b', 'c'].map((name) => event(name).id))
  expect(errors.map(({ code }) => code)).toEqual(['store_outage', 'event_refused'])
  expect(file.tables.state()).toMatchObject({ waiting: 0, refused: 1 })
  // No longer in the way of later reports of its message.
  expect(await inbox.admit(sample({ message: 'poison', at: 1 }))).toBe('new')
  await inbox.close()
  await file.close()
  shared.state.refuses = () => false
  const next = await inboxOn(await inProcessFile({ folder }), shared)
  await next.clock.advance(1_000)
  expect(shared.admitted.at(-1)).toBe(event('poison').id)
  expect(next.inbox.spooled).toBe(0)
})

test('an event that was erased from the spool stays a known identity, and is never stored', async () => {
  const shared = await sharedStore()
  const { inbox, clock } = await inboxOn(await inProcessFile(), shared)
  shared.state.isAway = true
  for (const name of ['a', 'b']) await inbox.admit(event(name))
  expect(await inbox.forgetSpooled(({ id }) => id === event('a').id, false)).toBe(1)
  shared.state.isAway = false
  await clock.advance(1_000)
  const store = await inbox.open()
  const { items } = await store.scan({ of: 'kept', after: undefined, limit: 10 })
  expect(new Set(items.map(({ id }) => id))).toEqual(new Set([event('b').id]))
  expect(await store.counts()).toMatchObject({ unsettled: 1 })
  expect(await inbox.admit(event('a'))).toBe('duplicate')
})

test('an event that is erased while it is on its way is erased in the store', async () => {
  const shared = await sharedStore()
  const { inbox, clock } = await inboxOn(await inProcessFile(), shared)
  shared.state.isAway = true
  await inbox.admit(event('a'))
  shared.state.isAway = false
  const { open: release, opened: held } = gate()
  shared.wait(held)
  await clock.advance(1_000)
  expect(await inbox.forgetSpooled(() => true, false)).toBe(1)
  release()
  await clock.advance(1_000)
  const store = await inbox.open()
  expect((await store.scan({ of: 'kept', after: undefined, limit: 10 })).items).toEqual([])
  expect(await inbox.admit(event('a'))).toBe('duplicate')
})

type Step =
  | { readonly kind: 'admit'; readonly process: number; readonly message: number }
  | { readonly kind: 'away' | 'back' }
  | { readonly kind: 'run'; readonly ms: number }
  | { readonly kind: 'kill'; readonly process: number }

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('admit' as const), process: fc.nat(2), message: fc.nat(4) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('away' as const, 'back' as const) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('run' as const), ms: fc.integer({ min: 1, max: 3_000 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), process: fc.nat(2) }) },
  ),
  { maxLength: 60 },
)

/** Three processes on one folder and one store, killed at any point. */
async function play(sequence: readonly Step[]): Promise<void> {
  const shared = await sharedStore()
  const folder = ownFolder()
  let isOver = false
  const start = async () => {
    const life = { isDead: false }
    const file = await inProcessFile({
      folder,
      // A dead process never gets another answer.
      before: () => (life.isDead && !isOver ? new Promise(() => {}) : undefined),
    })
    return { ...(await inboxOn(file, shared)), file, life }
  }
  const processes = await Promise.all([start(), start(), start()])
  const answered: NewEvent[] = []
  /** Each process notices at once what the others have spooled. */
  const advance = async (ms: number): Promise<void> => {
    for (const { file, clock } of processes) {
      file.look()
      await clock.advance(ms)
    }
  }
  for (const step of sequence) {
    if (step.kind === 'run') await advance(step.ms)
    else if (step.kind === 'kill') {
      const dying = processes[step.process]
      if (dying === undefined) continue
      dying.life.isDead = true
      processes[step.process] = await start()
    } else if (step.kind === 'admit') {
      const one = sample({ message: `m${step.message}`, at: answered.length })
      for (const { file } of processes) file.look()
      await processes[step.process]?.inbox.admit(one)
      answered.push(one)
    } else shared.state.isAway = step.kind === 'away'
  }
  shared.state.isAway = false
  for (let look = 0; look < 40; look += 1) await advance(500)
  expect(new Set(shared.admitted)).toEqual(new Set(answered.map(({ id }) => id)))
  expect(shared.admitted).toHaveLength(answered.length)
  for (const [key, ofMessage] of Map.groupBy(answered, ({ messageKey }) => messageKey)) {
    const ids = new Set(ofMessage.map(({ id }) => id))
    expect(
      shared.admitted.filter((id) => ids.has(id)),
      key,
    ).toEqual([...ids])
  }
  expect(processes.map(({ inbox }) => inbox.spooled)).toEqual([0, 0, 0])
  isOver = true
}

test('whichever process spools, moves or dies, each event arrives once, and in the order of its message', async () => {
  await fc.assert(fc.asyncProperty(steps, play), { numRuns: Number(process.env['RUNS'] ?? '30') })
})
