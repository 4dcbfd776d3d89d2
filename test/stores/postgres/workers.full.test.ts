/** Postgres leases of workers that are dead, silent, alive or leaving. The tests need the seconds that a death takes. */
import type { OpenStore } from 'messaging-webhooks/store'
import { postgresStore, type PostgresStoreOptions } from 'messaging-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { claim, done, eventOf, namesOf } from './events.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

const POLL = { timeout: 40_000, interval: 100 }
const TIMEOUT = { timeout: 90_000 }
const LEASE_MS = 3_600_000

interface Opened extends OpenStore<object> {
  readonly seen: { work: number; lost: number }
}

async function openAt(schema: string, options: Partial<PostgresStoreOptions> = {}): Promise<Opened> {
  const seen = { work: 0, lost: 0 }
  const store = postgresStore({ connectionString: POSTGRES_URL, schema, maxConnections: 3, ...options })
  const open = await store.open({ onWork: () => void (seen.work += 1), onLost: () => void (seen.lost += 1) })
  onTestFinished(async () => open.close())
  // The first heartbeat may arrive after the store is open.
  await expect.poll(() => open.isHeld?.('any'), POLL).toBe(true)
  return { ...open, seen }
}

async function claimFor(open: OpenStore<object>) {
  const nowMs = Date.now()
  return (await open.claim({ limit: 10, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: new Set() })).claims
}

describePostgres('workers on Postgres', () => {
  test('a lease under an unknown name is due again, and a living worker keeps its own', TIMEOUT, async () => {
    const schema = freshSchema()
    const first = await openAt(schema)
    await first.admit([eventOf('a'), eventOf('b')], Date.now())
    const nowMs = Date.now()
    const [own] = (await first.claim({ limit: 1, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: new Set() })).claims
    await claimFor(first)
    const another = `record <> (SELECT record FROM "${schema}".payloads WHERE encode(id, 'hex') = '${own?.id ?? ''}')`
    await rowsOf(`
        UPDATE "${schema}".records r
          SET state = convert_to(replace(convert_from(state, 'UTF8'), d.worker::text, '12345'), 'UTF8'), version = version + 1
          FROM "${schema}".due d WHERE d.record = r.number AND d.${another};
        UPDATE "${schema}".due SET worker = 12345 WHERE ${another}`)
    // A worker that is not listed has as long as any other to send a heartbeat; then its leases expire.
    const second = await openAt(schema)
    let claims: Awaited<ReturnType<typeof claim>> = []
    await expect.poll(async () => (claims = [...(await claimFor(second))]).length, POLL).toBe(1)
    expect(namesOf(claims)).toEqual(['b'])
    expect(await first.settle(own === undefined ? [] : [done(own)], Date.now())).toEqual([true])
  })
})
