/** Events in partitions: made ahead, dropped whole; what must outlive its partition does. */
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { postgresStore, type PostgresStoreOptions } from 'messaging-webhooks/postgres'
import type { OpenStore } from 'messaging-webhooks/store'
import { expect, onTestFinished, test } from 'vitest'
import { claim, done, eventOf, namesOf } from './events.ts'
import { filledPartsOf, partitionSince, partsOf } from './partitions.ts'
import { describePostgres, freshRole, freshSchema, onServer, POSTGRES_URL, rowsOf } from './schema.ts'

const PATIENT = { timeout: 300_000 }
const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 0, 1, 12)
const HOST = { onWork() {}, claims: false }

async function opened(schema: string, options: Partial<PostgresStoreOptions> = {}) {
  const reports: MessagingWebhooksError[] = []
  const given = { connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 3, ...options } as const
  const retention = { retentionDays: 7, deadLetterDays: 20, dedupeDays: 30 }
  const store = postgresStore({ ...retention, ...given })
  const open = await store.open({ ...HOST, report: (error) => void reports.push(error) })
  onTestFinished(async () => open.close())
  return { open, reports }
}

async function fresh(options: Partial<PostgresStoreOptions> = {}) {
  const schema = freshSchema()
  await partitionSince(schema, START_MS)
  return { schema, ...(await opened(schema, options)) }
}

async function pruneAll(open: OpenStore<object>, nowMs: number): Promise<void> {
  while ((await open.prune(nowMs)) > 0);
}

async function handOver(open: OpenStore<object>, nowMs: number): Promise<void> {
  for (let claims = await claim(open, { nowMs }); claims.length > 0; claims = await claim(open, { nowMs }))
    await open.settle(claims.map(done), nowMs)
}

async function messagesOf(schema: string): Promise<number> {
  const [row] = await rowsOf(`SELECT count(*)::int AS count FROM "${schema}".messages`)
  return Number(row?.['count'])
}

describePostgres('partitions', () => {
  test('a new schema has those of today and of three days ahead, and each prune makes more', PATIENT, async () => {
    const schema = freshSchema()
    const { open } = await opened(schema, { clock: 'server', partitions: { days: 1 } })
    const names = await partsOf(schema)
    expect(names).toHaveLength(2 + 2 * 4)
    expect(await open.admit([eventOf('m')], Date.now())).toEqual(['new'])
    const [[name] = []] = Object.entries(await filledPartsOf(schema))
    expect(name).toMatch(/^events_\d{8}_full$/)
    expect(names).toContain(name)
  })

  test('payloads go with their table, identities with theirs, and the messages after them', PATIENT, async () => {
    const { open, schema } = await fresh()
    await open.admit([eventOf('m', 1), eventOf('m', 2), eventOf('other', 1)], START_MS)
    await handOver(open, START_MS)
    const oids = await rowsOf(`SELECT '"${schema}".events_20260101_full'::regclass::oid AS oid`)
    expect(await filledPartsOf(schema)).toEqual({ events_20260101_full: 3 })
    await pruneAll(open, START_MS + 8 * DAY_MS)
    expect(await filledPartsOf(schema)).toEqual({ events_20260101_full: 3 })
    await pruneAll(open, START_MS + 9 * DAY_MS)
    expect(await filledPartsOf(schema)).toEqual({ events_20260101_bare: 3 })
    expect(await partsOf(schema)).not.toContain('events_20260101_full')
    expect(await rowsOf(`SELECT FROM pg_class WHERE oid = ${String(oids[0]?.['oid'])}`)).toEqual([])
    // Of each message the newest report is still wanted.
    const records = await rowsOf(
      `SELECT count(record)::int AS records, count(raw)::int AS raws FROM "${schema}".events`,
    )
    expect(records).toEqual([{ records: 2, raws: 0 }])
    expect((await open.latest(eventOf('m').messageKey))?.record.timestamp).toBe(1_700_000_002)
    expect(await open.admit([eventOf('m', 1), eventOf('other', 1)], START_MS + 31 * DAY_MS)).toEqual([
      'duplicate',
      'duplicate',
    ])
    await pruneAll(open, START_MS + 32 * DAY_MS)
    expect(await filledPartsOf(schema)).toEqual({})
    expect(await partsOf(schema)).not.toContain('events_20260101_bare')
    expect(await messagesOf(schema)).toBe(0)
    expect(await open.admit([eventOf('m', 1)], START_MS + 32 * DAY_MS)).toEqual(['new'])
  })

  test(
    'where both have the same time, a partition is dropped with all that is in it: no row is touched',
    PATIENT,
    async () => {
      const { open, schema } = await fresh({ retentionDays: 30 })
      await open.admit(
        Array.from({ length: 200 }, (_, index) => eventOf(`m${index}`)),
        START_MS,
      )
      await handOver(open, START_MS)
      const table = `'"${schema}".events_20260101_full'::regclass`
      for (const days of [8, 20, 31]) await pruneAll(open, START_MS + days * DAY_MS)
      await rowsOf('SELECT pg_stat_force_next_flush()')
      expect(
        await rowsOf(`SELECT pg_stat_get_tuples_updated(${table}) + pg_stat_get_tuples_deleted(${table}) AS touched,
        pg_stat_get_dead_tuples(${table}) AS dead`),
      ).toEqual([{ touched: '0', dead: '0' }])
      await pruneAll(open, START_MS + 32 * DAY_MS)
      expect(await filledPartsOf(schema)).toEqual({})
      expect(await messagesOf(schema)).toBe(0)
    },
  )

  for (const retentionDays of [7, 30])
    test(
      `what waits, is held or is dead outlives its partition, with ${retentionDays} days for payloads`,
      PATIENT,
      async () => {
        const { open, schema, reports } = await fresh({ retentionDays, deadLetterDays: 100 })
        await open.admit([eventOf('waits', 1), eventOf('held'), eventOf('dead')], START_MS)
        const except = (...names: readonly string[]) => new Set(names.map((name) => eventOf(name).messageKey))
        const [dead] = await claim(open, { nowMs: START_MS, exclude: except('waits', 'held') })
        if (dead === undefined) throw new Error('Nothing was claimed.')
        const { id, messageKey, token } = dead
        await open.settle([{ id, messageKey, token, outcome: 'dead', error: 'no' }], START_MS)
        const leaseUntilMs = START_MS + 1_000 * DAY_MS
        const held = await claim(open, { nowMs: START_MS, leaseUntilMs, exclude: except('waits') })
        for (const days of [9, 20, 33, 45, 66]) await pruneAll(open, START_MS + days * DAY_MS)
        expect((await partsOf(schema)).filter((name) => name.startsWith('events_2026010'))).toEqual([])
        const nowMs = START_MS + 66 * DAY_MS
        expect(await open.counts()).toEqual({ unsettled: 2, deadLetters: 1 })
        expect(await open.admit([eventOf('waits', 1), eventOf('held'), eventOf('dead')], nowMs)).toEqual([
          'duplicate',
          'duplicate',
          'duplicate',
        ])
        expect(await open.admit([eventOf('waits', 2)], nowMs)).toEqual(['new'])
        expect(await open.resolve(id, 'replay', nowMs)).toBe(true)
        expect(namesOf(await claim(open, { nowMs }))).toEqual(['dead', 'waits'])
        expect(await open.settle(held.map(done), nowMs)).toEqual([true])
        expect(reports).toEqual([])
      },
    )

  test('a repetition is one on the other side of an edge, until its time is over', PATIENT, async () => {
    const { open } = await fresh()
    const edgeMs = Date.UTC(2026, 0, 2)
    expect(await open.admit([eventOf('m', 1)], edgeMs - 1)).toEqual(['new'])
    expect(await open.admit([eventOf('m', 1), eventOf('m', 2)], edgeMs)).toEqual(['duplicate', 'new'])
    await handOver(open, edgeMs)
    for (const days of [1, 2, 9, 20, 30]) {
      await pruneAll(open, edgeMs + days * DAY_MS)
      expect(await open.admit([eventOf('m', 1), eventOf('m', 2)], edgeMs + days * DAY_MS)).toEqual([
        'duplicate',
        'duplicate',
      ])
    }
    // A clock that is set back across it.
    expect(await open.admit([eventOf('back')], edgeMs + 100)).toEqual(['new'])
    expect(await open.admit([eventOf('back')], edgeMs - 100)).toEqual(['duplicate'])
    expect(await open.admit([eventOf('back', 2)], edgeMs - 100)).toEqual(['new'])
    expect(await open.admit([eventOf('back', 2)], edgeMs + 40 * DAY_MS)).toEqual(['duplicate'])
  })

  test('the same event admitted by many at once on both sides of an edge is new once', PATIENT, async () => {
    const { open, schema } = await fresh()
    const { open: other } = await opened(schema)
    const edgeMs = Date.UTC(2026, 0, 2)
    await open.admit([eventOf('m', 1)], START_MS)
    for (let at = 2; at < 30; at += 1) {
      const admissions = await Promise.all(
        [open, other, open, other].map(async (each, index) => each.admit([eventOf('m', at)], edgeMs - 2 + index)),
      )
      expect(admissions.flat().toSorted()).toEqual(['duplicate', 'duplicate', 'duplicate', 'new'])
    }
  })

  test('where no partition is, nothing is lost: long ahead, long ago, and its time ends too', PATIENT, async () => {
    const { open, schema } = await fresh()
    const aheadMs = START_MS + 100 * DAY_MS
    expect(await open.admit([eventOf('ahead')], aheadMs)).toEqual(['new'])
    expect(await filledPartsOf(schema)).toEqual({ events_rest: 1 })
    expect(await open.admit([eventOf('ahead')], aheadMs + 1)).toEqual(['duplicate'])
    await handOver(open, aheadMs)
    await pruneAll(open, aheadMs)
    // What is there stays there; other days have theirs.
    expect(await filledPartsOf(schema)).toEqual({ events_rest: 1 })
    await open.admit([eventOf('next')], aheadMs + DAY_MS)
    expect(Object.values(await filledPartsOf(schema))).toEqual([1, 1])
    await handOver(open, aheadMs + DAY_MS)
    await pruneAll(open, aheadMs + 10 * DAY_MS)
    expect(await open.admit([eventOf('ahead'), eventOf('next')], aheadMs + 10 * DAY_MS)).toEqual([
      'duplicate',
      'duplicate',
    ])
    await pruneAll(open, aheadMs + 40 * DAY_MS)
    expect(await filledPartsOf(schema)).toEqual({})
    expect(await messagesOf(schema)).toBe(0)
  })

  test('what is forgotten on demand is found in every partition, with and without its payload', PATIENT, async () => {
    const { open, schema } = await fresh()
    for (const day of [0, 1, 9, 100]) await open.admit([eventOf('m', day + 1)], START_MS + day * DAY_MS)
    await handOver(open, START_MS + DAY_MS)
    await pruneAll(open, START_MS + 9 * DAY_MS)
    const targets = [{ messageKey: eventOf('m').messageKey }]
    const nowMs = START_MS + 9 * DAY_MS
    const before = (await open.kept?.({ after: undefined, limit: 10 }))?.items.length
    expect(before).toBe(3)
    expect((await open.forget?.({ targets, dryRun: false }, nowMs))?.events).toBe(before)
    expect(await rowsOf(`SELECT FROM "${schema}".events WHERE record IS NOT NULL OR raw IS NOT NULL`)).toEqual([])
    expect((await open.kept?.({ after: undefined, limit: 10 }))?.items).toEqual([])
    expect(
      await open.admit(
        [1, 2, 10, 101].map((at) => eventOf('m', at)),
        nowMs,
      ),
    ).toEqual(['duplicate', 'duplicate', 'duplicate', 'duplicate'])
  })

  test('two that keep one schema up at once drop what is due once, while a third admits', PATIENT, async () => {
    const { open, schema } = await fresh()
    const { open: other } = await opened(schema)
    const { open: admitting } = await opened(schema)
    let admitted = 0
    for (let day = 0; day < 6; day += 1) {
      const nowMs = START_MS + day * 5 * DAY_MS
      const events = Array.from({ length: 20 }, (_, index) => eventOf(`m${(admitted += 1)} ${index}`))
      const [admissions] = await Promise.all([
        admitting.admit(events, nowMs),
        pruneAll(open, nowMs),
        pruneAll(other, nowMs),
      ])
      expect(new Set(admissions)).toEqual(new Set(['new']))
      await Promise.all([handOver(admitting, nowMs), pruneAll(open, nowMs), pruneAll(other, nowMs)])
    }
    await pruneAll(open, START_MS + 100 * DAY_MS)
    expect(await filledPartsOf(schema)).toEqual({})
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })

  test('a drop waits for nobody: who reads for long only puts it off, and admissions go on', PATIENT, async () => {
    const { open, schema } = await fresh()
    await open.admit([eventOf('m')], START_MS)
    await handOver(open, START_MS)
    const laterMs = START_MS + 40 * DAY_MS
    await onServer(async (reader) => {
      await reader.query(`BEGIN; SELECT count(*) FROM "${schema}".events`)
      await pruneAll(open, laterMs)
      expect(await partsOf(schema)).toContain('events_20260101_full')
      expect(await open.admit([eventOf('other')], laterMs)).toEqual(['new'])
      await reader.query('COMMIT')
    })
    await pruneAll(open, laterMs)
    expect(await partsOf(schema)).not.toContain('events_20260101_full')
  })

  test(
    'a role that may create nothing works on them and has them made and dropped; one that may not delete does not',
    PATIENT,
    async () => {
      const schema = freshSchema()
      await partitionSince(schema, START_MS)
      const connectionString = await freshRole(schema)
      const { open } = await opened(schema, { connectionString })
      await pruneAll(open, START_MS + 10 * DAY_MS)
      await open.admit([eventOf('m', 1)], START_MS + 13 * DAY_MS)
      await handOver(open, START_MS + 13 * DAY_MS)
      expect(await filledPartsOf(schema)).toEqual({ events_20260114_full: 1 })
      expect(await open.admit([eventOf('m', 1), eventOf('m', 2)], START_MS + 13 * DAY_MS)).toEqual(['duplicate', 'new'])
      await handOver(open, START_MS + 13 * DAY_MS)
      await pruneAll(open, START_MS + 22 * DAY_MS)
      expect(await filledPartsOf(schema)).toEqual({ events_20260114_bare: 2 })
      await pruneAll(open, START_MS + 45 * DAY_MS)
      expect(await filledPartsOf(schema)).toEqual({})
      await rowsOf(`REVOKE DELETE ON "${schema}".events FROM "${schema}_role"`)
      await expect(Promise.resolve(open.prune(START_MS + 50 * DAY_MS))).rejects.toMatchObject({
        code: 'store_forbidden',
      })
    },
  )
})
