/** Schemas whose events are in partitions, and what is in these. */
import { migratePostgres } from 'messaging-webhooks/postgres'
import { FUNCTIONS } from '../../../src/stores/postgres/functions/set.ts'
import { POSTGRES_URL, rowsOf } from './schema.ts'

const DAY_MS = 86_400_000

/** One whose partitions, of so many days, begin long ago, before `startMs`: what a test admits then comes into them. */
export async function partitionSince(schema: string, startMs: number, days = 1): Promise<void> {
  await migratePostgres({ connectionString: POSTGRES_URL, schema, partitions: { days } })
  const edgeMs = (Math.floor(startMs / DAY_MS / days) - 1) * days * DAY_MS
  await rowsOf(`
    ALTER TABLE "${schema}".events DETACH PARTITION "${schema}".events_before;
    ALTER TABLE "${schema}".events ATTACH PARTITION "${schema}".events_before FOR VALUES FROM (MINVALUE) TO (${edgeMs});
    ${`SELECT "${schema}".upkeep_${FUNCTIONS.number}(${startMs}, 0, 0, 0, 0);`.repeat(4)}`)
}

/** Each table of events with how many rows are in it, the oldest first; those without any are left out. */
export async function filledPartsOf(schema: string): Promise<Readonly<Record<string, number>>> {
  const tables = await partsOf(schema)
  const counts: Record<string, number> = {}
  for (const name of tables) {
    const [row] = await rowsOf(`SELECT count(*)::int AS count FROM "${schema}"."${name}"`)
    if (row?.['count'] !== 0) counts[name] = Number(row?.['count'])
  }
  return counts
}

/** The tables that events stand in. */
export async function partsOf(schema: string): Promise<readonly string[]> {
  const rows = await rowsOf(`
    SELECT c.relname AS name FROM pg_partition_tree('"${schema}".events') t JOIN pg_class c ON c.oid = t.relid
    WHERE t.isleaf ORDER BY c.relname`)
  return rows.map(({ name }) => String(name))
}
