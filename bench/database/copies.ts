/**
 * Fills a store with copies of the settled messages that it has, in the language of its engine, because admitting ten million
 * messages would take hours. Each copy has a random key and a place beside its original, so that all are spread over time.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { createClient } from 'redis'

/** Runs one statement of Postgres or MySQL. */
export type Run = (statement: string) => Promise<unknown>

/** Copies made by one statement: larger transactions fill the log of the server. */
const AT_ONCE = 100

/** Ranges of at most `AT_ONCE` copies. */
function steps(copies: number): readonly (readonly [from: number, to: number])[] {
  return Array.from({ length: Math.ceil(copies / AT_ONCE) }, (_, step) => [
    step * AT_ONCE + 1,
    Math.min((step + 1) * AT_ONCE, copies),
  ])
}

export async function copyInPostgres(run: Run, schema: string, originals: number, copies: number): Promise<void> {
  await run(
    `CREATE TABLE ${schema}.originals AS SELECT * FROM ${schema}.records ORDER BY number DESC LIMIT ${originals}`,
  )
  await run(`CREATE TABLE ${schema}.bodies AS SELECT * FROM ${schema}.payloads ORDER BY record DESC LIMIT ${originals}`)
  for (const [from, to] of steps(copies)) {
    const range = `generate_series(${from}, ${to}) AS copy`
    await run(`INSERT INTO ${schema}.records (number, key, version, state, reports)
SELECT number + copy, decode(md5(number::text || '.' || copy), 'hex'), version, state, reports FROM ${schema}.originals, ${range}`)
    await run(`INSERT INTO ${schema}.payloads (record, id, admitted_at, event, raw)
SELECT record + copy, id, admitted_at, event, raw FROM ${schema}.bodies, ${range}`)
  }
  await run(`DROP TABLE ${schema}.originals, ${schema}.bodies`)
  for (const table of ['records', 'payloads', 'due']) await run(`VACUUM (ANALYZE) ${schema}.${table}`)
}

export async function copyInMysql(run: Run, prefix: string, originals: number, copies: number): Promise<void> {
  const [records, payloads] = [`${prefix}_records`, `${prefix}_payloads`]
  await run(`CREATE TABLE ${prefix}_originals AS SELECT * FROM ${records} ORDER BY number DESC LIMIT ${originals}`)
  await run(`CREATE TABLE ${prefix}_bodies AS SELECT * FROM ${payloads} ORDER BY record DESC LIMIT ${originals}`)
  for (const [from, to] of steps(copies)) {
    // A table of whole numbers that MariaDB makes up.
    const range = `seq_${from}_to_${to} AS copies`
    await run(`INSERT INTO ${records} (number, digest, version, state, reports)
SELECT number + copies.seq, UNHEX(MD5(CONCAT(number, '.', copies.seq))), version, state, reports FROM ${prefix}_originals, ${range}`)
    await run(`INSERT INTO ${payloads} (record, id, admitted_at, event, raw)
SELECT record + copies.seq, id, admitted_at, event, raw FROM ${prefix}_bodies, ${range}`)
  }
  await run(`DROP TABLE ${prefix}_originals, ${prefix}_bodies`)
  await run(`ANALYZE TABLE ${records}, ${payloads}`)
}

/** Numbers of SQLite count arrivals, so that copies come after their originals. */
export function copyInSqlite(db: DatabaseSync, originals: number, copies: number): void {
  db.exec('PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA cache_size = -1000000')
  const columns = 'state, waiting, due, worker, forget_day, of, send, sent_at, overdue_at, pending_since'
  const bodies = 'id, admitted_at, record, raw, error'
  db.exec(`
CREATE TEMP TABLE originals AS SELECT * FROM records ORDER BY number DESC LIMIT ${originals};
CREATE TEMP TABLE bodies AS SELECT * FROM payloads ORDER BY seq DESC LIMIT ${originals};
CREATE TEMP TABLE copies AS WITH RECURSIVE c(copy) AS (SELECT 1 UNION ALL SELECT copy + 1 FROM c WHERE copy < ${copies}) SELECT copy FROM c;
CREATE TEMP TABLE size AS SELECT max(number) AS records, (SELECT max(seq) FROM payloads) AS payloads FROM records;
INSERT INTO records (number, key, ${columns})
  SELECT number + copy * size.records, randomblob(16), ${columns} FROM copies, originals, size;
INSERT INTO payloads (seq, message, ${bodies})
  SELECT seq + copy * size.payloads, message + copy * size.records, ${bodies} FROM copies, bodies, size;
PRAGMA journal_mode = WAL;
ANALYZE`)
}

/** Copies payloads and their records, all of which are ASCII here. `baseOf` returns the prefix of a record's keys. */
export async function copyInRedis(
  client: ReturnType<typeof createClient>,
  baseOf: (key: string) => string,
  originals: number,
  copies: number,
): Promise<void> {
  const found: (readonly [id: string, record: string, payload: string])[] = []
  for await (const names of client.scanIterator({ MATCH: '*:p:*', COUNT: 1_000 }))
    for (const name of names) {
      const [key = '', id = ''] = name.split(':').slice(-2)
      const [record, payload] = [await client.get(`${baseOf(key)}r:${key}`), await client.get(name)]
      if (record !== null && payload !== null) found.push([id, record, payload])
    }
  const newest = found.toSorted(([, , one], [, , other]) => (one < other ? 1 : -1)).slice(0, originals)
  const life = { expiration: { type: 'PX', value: 6 * 86_400_000 } } as const
  for (let copy = 0; copy < copies; copy += 1)
    await Promise.all(
      newest.flatMap(([id, record, payload]) => {
        const key = randomBytes(16).toString('hex')
        const base = baseOf(key)
        return [client.set(`${base}r:${key}`, record, life), client.set(`${base}p:${key}:${id}`, payload, life)]
      }),
    )
}
