/** From one table to partitions: on a store in use, whatever becomes of whoever does it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import {
  migratePostgres,
  pendingPostgresMigrations,
  postgresMigrations,
  postgresStore,
  type PostgresStoreOptions,
} from 'messaging-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { claim, done, eventOf } from './events.ts'
import { filledPartsOf, partsOf } from './partitions.ts'
import { describePostgres, freshRole, freshSchema, onServer, POSTGRES_URL, rowsOf } from './schema.ts'

const PATIENT = { timeout: 120_000 }
const DAY_MS = 86_400_000
const POLL_MS = 20
const DAILY = { partitions: { days: 1 } }
const place = (schema: string) => ({ connectionString: POSTGRES_URL, schema })

async function opened(schema: string, options: Partial<PostgresStoreOptions> = {}) {
  const store = postgresStore({ ...place(schema), maxConnections: 3, ...options })
  const open = await store.open({ onWork() {}, claims: false })
  onTestFinished(async () => open.close())
  return open
}

async function oidOf(schema: string, table: string): Promise<unknown> {
  return (await rowsOf(`SELECT to_regclass('"${schema}".${table}')::oid AS oid`))[0]?.['oid']
}

describePostgres('partitioning', () => {
  test('a table in use becomes a part as it is, while others admit, hand over and settle', PATIENT, async () => {
    const schema = freshSchema()
    await migratePostgres(place(schema))
    const connectionString = await freshRole(schema)
    const [admitting, working] = [
      await opened(schema, { connectionString }),
      await opened(schema, { connectionString }),
    ]
    const oid = await oidOf(schema, 'events')
    const going = new AbortController()
    let admitted = 0

    async function admit(): Promise<void> {
      while (!going.signal.aborted) {
        admitted += 1
        // New messages, known ones, and repetitions.
        const events = [eventOf(`m${admitted}`, 1), eventOf(`m${Math.ceil(admitted / 2)}`, admitted + 1)]
        expect(await admitting.admit(events, Date.now())).toEqual(['new', 'new'])
        expect(await admitting.admit(events, Date.now())).toEqual(['duplicate', 'duplicate'])
      }
    }
    let settled = 0
    async function handOver(): Promise<void> {
      const claims = await claim(working, { limit: 10 })
      expect(await working.settle(claims.map(done), Date.now())).toEqual(claims.map(() => true))
      settled += claims.length
    }
    const busy = [
      admit(),
      (async () => {
        while (!going.signal.aborted) await handOver()
      })(),
    ]
    while (admitted < 20) await setTimeout(POLL_MS)
    const before = admitted
    expect(await migratePostgres({ ...place(schema), ...DAILY })).toEqual({ from: 3, to: 3, partitionDays: 1 })
    const then = admitted
    while (admitted < then + 20) await setTimeout(POLL_MS)
    going.abort()
    await Promise.all(busy)
    while (settled < 2 * admitted) await handOver()

    expect(await oidOf(schema, 'events_before')).toBe(oid)
    expect(await rowsOf(`SELECT count(*)::int AS events FROM "${schema}".events`)).toEqual([{ events: 2 * admitted }])
    expect(before).toBeLessThan(admitted)
    expect(await working.prune(Date.now())).toBe(0)
    // Days go on where it ends.
    const laterMs = Date.now() + 2 * DAY_MS
    const later = await opened(schema, { clock: 'caller', connectionString })
    expect(await later.admit([eventOf('later'), eventOf('m1', 1)], laterMs)).toEqual(['new', 'duplicate'])
    expect(Object.keys(await filledPartsOf(schema))).toEqual([
      expect.stringMatching(/^events_\d{8}_full$/),
      'events_before',
    ])
    // When all of it has had its time it is dropped, and its messages are forgotten.
    while ((await later.prune(laterMs + 33 * DAY_MS)) > 0);
    expect(await oidOf(schema, 'events_before')).toBe(null)
    expect(await rowsOf(`SELECT count(*)::int AS messages FROM "${schema}".messages`)).toEqual([{ messages: 1 }])
  })

  test(
    'who is killed in the midst leaves a store that works, also past the edge; another finishes',
    PATIENT,
    async () => {
      const schema = freshSchema()
      const open = await opened(schema, { clock: 'caller' })
      await open.admit([eventOf('m', 1)], Date.now())
      await onServer(async (reader) => {
        await reader.query(`BEGIN; LOCK TABLE "${schema}".messages IN ACCESS SHARE MODE`)
        const url = new URL(POSTGRES_URL)
        url.searchParams.set('application_name', schema)
        const child = fork(new URL('./programs/partitioner.ts', import.meta.url), [url.href, schema])
        onTestFinished(() => void child.kill('SIGKILL'))
        const isValid = `SELECT FROM pg_constraint WHERE conname = 'events_end' AND convalidated AND conrelid = '"${schema}".events'::regclass`
        while ((await rowsOf(isValid)).length === 0) await setTimeout(POLL_MS)
        child.kill('SIGKILL')
        await once(child, 'exit')
        // What it was waiting for, the server gives up by itself.
        const isThere = `SELECT FROM pg_stat_activity WHERE application_name = '${schema}'`
        while ((await rowsOf(isThere)).length > 0) await setTimeout(POLL_MS)
        await reader.query('COMMIT')
      })
      const laterMs = Date.now() + 3 * DAY_MS
      expect(await open.admit([eventOf('m', 1), eventOf('m', 2), eventOf('later')], laterMs)).toEqual([
        'duplicate',
        'new',
        'new',
      ])
      expect(await pendingPostgresMigrations(place(schema))).toEqual({ from: 3, to: 3 })
      await expect(opened(schema, DAILY)).rejects.toMatchObject({ code: 'store_unpartitioned' })

      const both = [1, 2].map(() => migratePostgres({ ...place(schema), ...DAILY }))
      expect(await Promise.all(both)).toEqual(both.map(() => ({ from: 3, to: 3, partitionDays: 1 })))
      expect(await filledPartsOf(schema)).toEqual({ events_before: 3 })
      expect(await open.admit([eventOf('m', 2), eventOf('later'), eventOf('m', 3)], laterMs)).toEqual([
        'duplicate',
        'duplicate',
        'new',
      ])
      expect(await claim(open, { nowMs: laterMs })).toHaveLength(2)
    },
  )

  test('the printed steps make the same tables, and applied twice they change nothing', PATIENT, async () => {
    const [printed, applied] = [freshSchema(), freshSchema()]
    await migratePostgres({ ...place(applied), ...DAILY })
    const sql = postgresMigrations({ schema: printed, ...DAILY })
    await onServer((client) => client.query(sql))
    const again = postgresMigrations({ schema: printed, from: 3, ...DAILY })
    await onServer((client) => client.query(again))
    const columns = async (schema: string) =>
      rowsOf(`
        SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '${schema}'
        UNION ALL SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = '${schema}'
        ORDER BY 1, 2`)
    const open = await opened(printed, DAILY)
    await opened(applied, DAILY)
    expect(await columns(printed)).toEqual(await columns(applied))
    expect(await open.admit([eventOf('m')], Date.now())).toEqual(['new'])
  })

  test(
    'the schema says what it is: without the option it is opened as it is, with another number it is refused',
    PATIENT,
    async () => {
      const [plain, partitioned] = [freshSchema(), freshSchema()]
      await opened(plain)
      await expect(opened(plain, DAILY)).rejects.toMatchObject({ code: 'store_unpartitioned' })
      await opened(partitioned, DAILY)
      const open = await opened(partitioned)
      expect(await open.admit([eventOf('m')], Date.now())).toEqual(['new'])
      expect(await open.prune(Date.now())).toBe(0)
      await expect(opened(partitioned, { partitions: { days: 7 } })).rejects.toMatchObject({
        code: 'store_unpartitioned',
      })
      await expect(migratePostgres({ ...place(partitioned), partitions: { days: 7 } })).rejects.toMatchObject({
        code: 'store_unpartitioned',
      })
      expect(await pendingPostgresMigrations(place(partitioned))).toEqual({ from: 3, to: 3, partitionDays: 1 })
      expect(await partsOf(plain)).toEqual([])
    },
  )
})
