/** What pruning erases, when, and what it keeps. */
import type { OpenStore } from 'messaging-webhooks/store'
import { postgresStore } from 'messaging-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { claim, done, eventOf } from './events.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

const TIMEOUT = { timeout: 60_000 }
const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 0, 1)

async function fresh() {
  const schema = freshSchema()
  const open = await postgresStore({
    connectionString: POSTGRES_URL,
    schema,
    retentionDays: 7,
    deadLetterDays: 20,
    dedupeDays: 30,
    clock: 'caller',
  }).open({ onWork() {}, claims: false })
  onTestFinished(() => open.close())
  const rows = async () => {
    const [counted] = await rowsOf(`
      SELECT (SELECT count(*)::int FROM "${schema}".records) AS records,
        (SELECT count(*)::int FROM "${schema}".payloads) AS payloads`)
    return counted
  }
  return { open, rows }
}

async function pruneAll(open: OpenStore<object>, nowMs: number): Promise<void> {
  while ((await open.prune(nowMs)) > 0);
}

async function runAll(open: OpenStore<object>, nowMs: number): Promise<void> {
  for (let claims = await claim(open, { nowMs }); claims.length > 0; claims = await claim(open, { nowMs }))
    await open.settle(claims.map(done), nowMs)
}

describePostgres('pruning', () => {
  test(
    'prunes the bytes first, then the idempotency key; the latest state stays as long as the key',
    TIMEOUT,
    async () => {
      const { open, rows } = await fresh()
      await open.admit([eventOf('m', 1), eventOf('m', 2), eventOf('other', 1)], START_MS)
      await runAll(open, START_MS)
      await pruneAll(open, START_MS + 7 * DAY_MS)
      expect(await rows()).toEqual({ records: 2, payloads: 3 })
      await pruneAll(open, START_MS + 8 * DAY_MS)
      expect(await rows()).toEqual({ records: 2, payloads: 0 })
      expect((await open.latest(eventOf('m').messageKey))?.record.timestamp).toBe(1_700_000_002)
      expect(await open.admit([eventOf('m', 1)], START_MS + 30 * DAY_MS)).toEqual(['duplicate'])
      await pruneAll(open, START_MS + 31 * DAY_MS)
      expect(await rows()).toEqual({ records: 0, payloads: 0 })
      expect(await open.admit([eventOf('m', 1)], START_MS + 31 * DAY_MS)).toEqual(['new'])
    },
  )

  test('constant pruning loses nothing and repeats nothing', TIMEOUT, async () => {
    const schema = freshSchema()
    const store = postgresStore({
      connectionString: POSTGRES_URL,
      schema,
      retentionDays: 1e-9,
      deadLetterDays: 1e-9,
      dedupeDays: 1e-9,
    })
    const [open, pruning] = [await store.open({ onWork() {} }), await store.open({ onWork() {}, claims: false })]
    const going = new AbortController()
    const pruned = (async () => {
      while (!going.signal.aborted) await pruning.prune(Date.now())
    })()
    const seen: string[] = []
    for (let round = 1; round <= 40; round += 1) {
      const events = Array.from({ length: 10 }, (_, index) => eventOf(`m${index}`, round))
      expect(new Set(await open.admit(events, Date.now()))).toEqual(new Set(['new']))
      const claims = await claim(open)
      seen.push(...claims.map(({ id }) => id))
      expect(await open.settle(claims.map(done), Date.now())).toEqual(claims.map(() => true))
    }
    // Pruning has some rows locked; the claim skips them.
    while ((await open.counts()).unsettled > 0) {
      const claims = await claim(open)
      seen.push(...claims.map(({ id }) => id))
      await open.settle(claims.map(done), Date.now())
    }
    going.abort()
    await pruned
    expect(seen.length).toBe(400)
    expect(new Set(seen).size).toBe(400)
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    const orphans = await rowsOf(`
      SELECT 1 FROM "${schema}".payloads p WHERE NOT EXISTS (SELECT FROM "${schema}".records r WHERE r.number = p.record)`)
    expect(orphans).toEqual([])
    await open.close()
    await pruning.close()
  })
})
