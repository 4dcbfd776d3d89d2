/** Processes that share a store, with any order of reads and writes, and with lost answers. */
import fc from 'fast-check'
import { MessagingWebhooksError } from 'messaging-webhooks'
import {
  openRecordStore,
  type MessageStore,
  type NewEvent,
  type RecordChange,
  type RecordRow,
  type RecordStore,
} from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import { claimOf, type Claim } from '../../src/dispatch/claim.ts'
import { admitting, claim, sample, settling } from '../../src/store-conformance/samples.ts'
import { hostOf } from '../support/stores.ts'

const WORKERS = 3
const LEASE_MS = 60_000
const START_MS = 1_800_000_000_000

/** The result of a write: `lost` takes effect without an answer, `refused` has no effect, `twice` was sent again. */
const FATES = ['received', 'received', 'received', 'twice', 'lost', 'refused'] as const
const fates = fc.array(fc.constantFrom(...FATES), { maxLength: 40 })

/** Two messages with their own reports; every worker admits some of them, and some are admitted twice. */
const EVENTS = ['a', 'b'].flatMap((message) => [1, 2, 3].map((at) => sample({ message, at, final: at === 3 })))

function createDatabase() {
  const rows = new Map<string, RecordRow & { readonly payloads: ReadonlyMap<string, string> }>()

  function write({ key, expected, row, payloads: changes }: RecordChange): boolean {
    const stored = rows.get(key)
    if (stored !== undefined && stored.version === row?.version) return true
    if (stored?.version !== expected) return false
    const payloads = new Map(stored?.payloads)
    for (const { id, text } of changes)
      if (text === undefined) payloads.delete(id)
      else payloads.set(id, text)
    if (row === undefined) rows.delete(key)
    else rows.set(key, { ...row, payloads })
    return true
  }

  return { rows, write }
}

/** The database as one worker sees it: what it asks and what it is answered are on their way for a while. */
function connect(
  { rows, write }: ReturnType<typeof createDatabase>,
  scheduler: fc.Scheduler,
  nextFate: () => (typeof FATES)[number] | undefined,
): RecordStore {
  async function far<T>(go: () => T): Promise<T> {
    await scheduler.schedule(Promise.resolve('to the database'))
    const answer = go()
    await scheduler.schedule(Promise.resolve('back'))
    return answer
  }

  return {
    read: (keys) =>
      far(() =>
        [...rows]
          .filter(([key]) => keys.includes(key))
          .map(([key, { version, text, payloads }]) => ({
            key,
            version,
            text,
            payloads: [...payloads].map(([id, payload]) => ({ id, text: payload })),
          })),
      ),
    async write(changes) {
      const fate = nextFate()
      const isWritten = await far(() => fate !== 'refused' && changes.map(write))
      if (isWritten === false || fate === 'lost') throw new MessagingWebhooksError('store_failed')
      return fate === 'twice' ? far(() => changes.map(write)) : isWritten
    },
    due: ({ limit, nowMs, exclude }) =>
      far(() => {
        const due = [...rows].filter(([key, { dueMs = Infinity }]) => !exclude.has(key) && dueMs <= nowMs)
        return { keys: due.map(([key]) => key).slice(0, limit), nextMs: undefined }
      }),
    // No list is read here.
    records: () => [],
    counts: () => ({ unsettled: [...rows.values()].reduce((sum, row) => sum + row.unsettled, 0), deadLetters: 0 }),
    close() {},
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
  open: MessageStore,
  events: readonly NewEvent[],
  witness: ReturnType<typeof createWitness>,
): Promise<void> {
  async function handle(claims: readonly Claim[]): Promise<void> {
    for (const claimed of claims) witness.begin(claimed)
    for (const claimed of claims) {
      await scheduler.schedule(Promise.resolve('handler'))
      // The lease ends somewhere during the settlement.
      witness.end(claimed)
      await untilAnswered(() => open.run([settling(claimed)]))
    }
  }
  for (const event of events) {
    const [admitted] = await untilAnswered(() => open.run([admitting(event, LEASE_MS)]))
    if (admitted?.granted !== undefined) await handle([claimOf(event.messageKey, admitted.granted, event)])
  }
  for (let tries = 0; tries < 6; tries += 1) {
    const { claims } = await untilAnswered(() => claim(open, { limit: 2, leaseForMs: LEASE_MS }))
    await handle(claims)
  }
}

test('each event runs at least once, one of a message at a time, never backwards; and nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fates, async (scheduler, plan) => {
      const database = createDatabase()
      const witness = createWitness()
      let nowMs = START_MS
      const host = hostOf({ nowMs: () => nowMs })
      const workers = Array.from({ length: WORKERS }, async (_, index) => {
        const left = index === 0 ? [...plan] : plan.toReversed()
        const open = openRecordStore(
          connect(database, scheduler, () => left.shift()),
          { host },
        )
        const own = EVENTS.filter((__, at) => at % WORKERS === index || at % 4 === 0)
        await work(scheduler, open, index === 0 ? own : own.toReversed(), witness)
      })
      await scheduler.waitFor(Promise.all(workers))
      // A lease left from a lost answer expires by its time.
      nowMs += 2 * LEASE_MS
      const last = openRecordStore(
        connect(database, scheduler, () => undefined),
        { host },
      )
      await scheduler.waitFor(work(scheduler, last, [], witness))
      expect(new Set(witness.handled)).toEqual(new Set(EVENTS.map(({ id }) => id)))
      expect(await last.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    }),
    { numRuns: 300 },
  )
})
