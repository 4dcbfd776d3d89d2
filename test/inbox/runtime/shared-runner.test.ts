/** Processes that share a store: whatever order their reads and writes take, and whichever answers are lost. */
import fc from 'fast-check'
import { MessagingWebhooksError } from 'messaging-webhooks'
import type { Claim, NewEvent, OpenStore } from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import { inMap, keyValueStore, type KeyValues } from '../../../examples/store-of-your-own.ts'
import { sample, START_MS } from '../../../src/store-conformance/samples.ts'

const WORKERS = 3
const LEASE_MS = 60_000
const NOBODY: ReadonlySet<string> = new Set()

/** What becomes of a write: `lost`, it takes effect and nobody hears of it; `refused`, it does not. */
const fates = fc.array(fc.constantFrom('heard', 'heard', 'heard', 'lost', 'refused'), { maxLength: 40 })

/** Two messages with reports of their own each; every worker admits some of them, and some are admitted twice. */
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

/** As callers do: again, until there is an answer. */
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
  const request = { limit: 2, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: NOBODY }
  async function handle(claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) witness.begin(claim)
    for (const claim of claims) {
      const { id, messageKey, token } = claim
      await scheduler.schedule(Promise.resolve('handler'))
      // The lease ends somewhere in the settlement.
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
      // Whatever lease is left of an answer that was lost ends by its time.
      const last = await keyValueStore(database).open({ onWork() {} })
      await scheduler.waitFor(work(scheduler, last, [], witness, START_MS + 2 * LEASE_MS))
      expect(new Set(witness.handled)).toEqual(new Set(EVENTS.map(({ id }) => id)))
      expect(await last.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    }),
    { numRuns: 300 },
  )
})
