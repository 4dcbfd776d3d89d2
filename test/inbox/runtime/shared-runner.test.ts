/** Processes that share a store, with any order of reads and writes, and with lost answers. */
import fc from 'fast-check'
import { MessagingWebhooksError } from 'messaging-webhooks'
import type { Claim, NewEvent, OpenStore } from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import { inMap, keyValueStore, type KeyValues } from '../../../examples/store-of-your-own.ts'
import { sample, START_MS } from '../../../src/store-conformance/samples.ts'

const WORKERS = 3
const LEASE_MS = 60_000
const NO_KEYS: ReadonlySet<string> = new Set()

/** The result of a write: `lost` takes effect without an answer; `refused` has no effect. */
const fates = fc.array(fc.constantFrom('received', 'received', 'received', 'lost', 'refused'), { maxLength: 40 })

/** Two messages with their own reports; every worker admits some of them, and some are admitted twice. */
const EVENTS = ['a', 'b'].flatMap((message) =>
  [1, 2, 3].map((at) => sample({ message, at, final: at === 3, awaits: 0, gapUntilMs: START_MS })),
)

function unreliable(database: KeyValues, scheduler: fc.Scheduler, plan: readonly string[]): KeyValues {
  let written = 0
  return {
    get: async (key) => scheduler.schedule(database.get(key)),
    keys: async (prefix) => scheduler.schedule(database.keys(prefix)),
    async writeIf(key, expected, values) {
      await scheduler.schedule(Promise.resolve('to the database'))
      const fate = plan[written++]
      const isWritten = fate !== 'refused' && (await database.writeIf(key, expected, values))
      await scheduler.schedule(Promise.resolve('back'))
      if (fate === 'lost' || fate === 'refused') throw new MessagingWebhooksError('store_failed')
      return isWritten
    },
  }
}

/** As callers do: retries until there is an answer. */
async function untilAnswered<T>(ask: () => T | Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof MessagingWebhooksError)) throw error
    }
  }
}

function createWitness() {
  const handled: string[] = []
  const running = new Set<string>()
  const lastOrder = new Map<string, string>()
  return {
    handled,
    begin({ id, messageKey, late }: Claim) {
      expect(running.has(messageKey), 'one event of a message at a time').toBe(false)
      running.add(messageKey)
      const { order = '' } = EVENTS.find((event) => event.id === id) ?? {}
      expect(late || order >= (lastOrder.get(messageKey) ?? ''), 'never backwards').toBe(true)
      if (!late) lastOrder.set(messageKey, order)
      handled.push(id)
    },
    end: ({ messageKey }: Claim) => running.delete(messageKey),
  }
}

async function work(
  scheduler: fc.Scheduler,
  open: OpenStore,
  events: readonly NewEvent[],
  witness: ReturnType<typeof createWitness>,
  nowMs: number,
) {
  const request = { limit: 2, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: NO_KEYS }
  async function handle(claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) witness.begin(claim)
    for (const claim of claims) {
      const { id, messageKey, token } = claim
      await scheduler.schedule(Promise.resolve('handler'))
      // The lease ends somewhere during the settlement.
      witness.end(claim)
      await untilAnswered(() => open.settle([{ id, messageKey, token, outcome: 'done' }], nowMs))
    }
  }
  for (const event of events) {
    const answer = await untilAnswered(() => open.admitAndClaim?.([event], request))
    await handle(answer?.claims ?? [])
  }
  for (let tries = 0; tries < 6; tries += 1) {
    const { claims } = await untilAnswered(() => open.claim(request))
    await handle(claims)
  }
}

test('each event runs at least once, one of a message at a time, never backwards; and nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fates, async (scheduler, plan) => {
      const database = inMap()
      const witness = createWitness()
      const workers = Array.from({ length: WORKERS }, async (_, index) => {
        const open = await keyValueStore(unreliable(database, scheduler, index === 0 ? plan : plan.toReversed())).open({
          onWork() {},
        })
        const own = EVENTS.filter((__, at) => at % WORKERS === index || at % 4 === 0)
        await work(scheduler, open, index === 0 ? own : own.toReversed(), witness, START_MS)
      })
      await scheduler.waitFor(Promise.all(workers))
      // A lease left from a lost answer expires by its time.
      const last = await keyValueStore(database).open({ onWork() {} })
      await scheduler.waitFor(work(scheduler, last, [], witness, START_MS + 2 * LEASE_MS))
      expect(new Set(witness.handled)).toEqual(new Set(EVENTS.map(({ id }) => id)))
      expect(await last.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    }),
    { numRuns: 300 },
  )
})

const REQUEST = { limit: 2, nowMs: START_MS, leaseUntilMs: START_MS + LEASE_MS, exclude: NO_KEYS }
const nameAndAttempt = ({ id, attempt }: Claim) => ({ id, attempt })
const fail = () => Promise.reject(new MessagingWebhooksError('store_failed'))

/** A database that fails where `fails` says so, and runs code between two writes of the same key. */
function faulty(database: KeyValues) {
  const faults = {
    fails: (_: string): boolean => false,
    writesAgainAfter: undefined as (() => Promise<void>) | undefined,
  }
  const kept: KeyValues = {
    get: (key) => (faults.fails(key) ? fail() : database.get(key)),
    keys: (prefix) => (faults.fails(prefix) ? fail() : database.keys(prefix)),
    async writeIf(key, expected, values) {
      if (faults.fails(`write ${key}`)) return fail()
      const isWritten = await database.writeIf(key, expected, values)
      const { writesAgainAfter } = faults
      if (writesAgainAfter === undefined) return isWritten
      faults.writesAgainAfter = undefined
      await writesAgainAfter()
      return database.writeIf(key, expected, values)
    },
  }
  return { faults, kept }
}

async function openedFaulty() {
  const database = inMap()
  const { faults, kept } = faulty(database)
  const open = await keyValueStore(kept).open({ onWork() {} })
  const other = await keyValueStore(database).open({ onWork() {} })
  return { database, faults, open, other }
}

test('the next claim takes back a lease whose payload could not be read', async () => {
  const { faults, open } = await openedFaulty()
  const event = sample()
  await open.admit([event], START_MS)
  faults.fails = (key) => key.startsWith('p/')
  await expect(async () => open.claim(REQUEST)).rejects.toMatchObject({ code: 'store_failed' })
  faults.fails = () => false
  expect((await open.claim(REQUEST)).claims.map(nameAndAttempt)).toEqual([{ id: event.id, attempt: 1 }])
})

test('takes back the lease of a write that was sent twice, where another process wrote in between', async () => {
  const { faults, open, other } = await openedFaulty()
  const [event, later] = [sample({ at: 1 }), sample({ at: 2 })]
  faults.writesAgainAfter = async () => {
    await other.admit([later], START_MS)
  }
  await open.admitAndClaim?.([event], REQUEST)
  expect((await open.claim(REQUEST)).claims.map(nameAndAttempt)).toEqual([{ id: event.id, attempt: 1 }])
})

test('does not take back a lease that another call of this process was granted meanwhile', async () => {
  const { open } = await openedFaulty()
  const event = sample()
  const answers = await Promise.all([open.admitAndClaim?.([event], REQUEST), open.admitAndClaim?.([event], REQUEST)])
  expect(answers.flatMap((answer) => answer?.claims ?? [])).toHaveLength(1)
  expect((await open.claim(REQUEST)).claims).toEqual([])
})

test('takes back either lease of two writes of one message whose answers were lost', async () => {
  const { faults, open } = await openedFaulty()
  const [event, later] = [sample({ at: 1 }), sample({ at: 2 })]
  faults.writesAgainAfter = fail
  await expect(async () => open.admitAndClaim?.([event], REQUEST)).rejects.toThrow()
  faults.fails = (key) => key.startsWith('r/')
  // Decided without the record, which was not read since.
  await expect(async () => open.admitAndClaim?.([later], { ...REQUEST, leaseUntilMs: START_MS + 1 })).rejects.toThrow()
  faults.fails = () => false
  expect((await open.claim(REQUEST)).claims.map(nameAndAttempt)).toEqual([{ id: event.id, attempt: 1 }])
})

test('a lost lease that cannot be taken back does not stop other claims', async () => {
  const { faults, open } = await openedFaulty()
  const [away, event] = [sample({ message: 'unavailable' }), sample({ message: 'other' })]
  faults.writesAgainAfter = fail
  await expect(async () => open.admitAndClaim?.([away], REQUEST)).rejects.toThrow()
  faults.fails = (key) => key === `r/${away.messageKey}`
  await open.admit([event], START_MS)
  expect((await open.claim(REQUEST)).claims.map(nameAndAttempt)).toEqual([{ id: event.id, attempt: 1 }])
})
