/** Retention runs while events are admitted and dispatched. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { expect, test } from 'vitest'
import { admit, claim, eventOf, observer, opened, settleAll } from './events.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

const NOTHING_IS_KEPT = { retentionDays: 1e-9, deadLetterDays: 1e-9, dedupeDays: 1e-9 }

describePostgres('pruning', () => {
  test('constant pruning loses nothing and repeats nothing', { timeout: 60_000 }, async () => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, ...NOTHING_IS_KEPT })
    const [open, pruning] = [await opened(store), await observer(store)]
    const going = new AbortController()
    let gone = 0
    async function prune(): Promise<void> {
      const { keys } = await pruning.due({ of: 'retention', limit: 50 })
      const expired = await pruning.run(keys.map((key) => ({ do: 'expire' as const, key })))
      gone += expired.filter((each) => each === 'gone').length
    }
    const pruned = (async () => {
      while (!going.signal.aborted) await prune()
    })()
    const seen: string[] = []
    async function dispatch(): Promise<void> {
      const claims = await claim(open)
      seen.push(...claims.map(({ id }) => id))
      expect(await settleAll(open, claims)).toEqual(claims.map(() => true))
    }
    for (let round = 1; round <= 40; round += 1) {
      const events = Array.from({ length: 10 }, (_, index) => eventOf(`m${index}`, round))
      expect(new Set(await admit(open, events))).toEqual(new Set(['new']))
      await dispatch()
    }
    // Pruning has some rows locked; the claim skips them.
    while ((await open.counts()).unsettled > 0) await dispatch()
    going.abort()
    await pruned
    expect(seen).toHaveLength(400)
    expect(new Set(seen).size).toBe(400)
    expect(gone).toBeGreaterThan(0)
    const orphans = await rowsOf(`
      SELECT 1 FROM "${schema}".payloads p WHERE NOT EXISTS (SELECT FROM "${schema}".records r WHERE r.number = p.record)`)
    expect(orphans).toEqual([])
    await expect
      .poll(async () => {
        await prune()
        return rowsOf(`SELECT 1 FROM "${schema}".records UNION ALL SELECT 1 FROM "${schema}".payloads`)
      })
      .toEqual([])
  })
})
