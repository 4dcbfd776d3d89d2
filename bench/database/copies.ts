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

/** How to copy: so many of the newest messages, so many times, each time at a later time. */
export interface Copying {
  readonly originals: number
  readonly copies: number
  readonly fromMs: number
  readonly gapMs: number
}

const timeOf = ({ fromMs, gapMs }: Copying): string => `${fromMs} + c.copy * ${gapMs}`
/** The number of a record: its time, and its place among the originals. */
const numberOf = (copying: Copying): string => `(${timeOf(copying)}) * 1000000 + o.nth`

export async function copyInPostgres(run: Run, schema: string, copying: Copying): Promise<void> {
  const { originals, copies } = copying
  const [number, time] = [numberOf(copying), timeOf(copying)]
  await run(`CREATE TABLE ${schema}.originals AS
SELECT row_number() OVER () AS nth, r.*, p.id, p.event, p.raw
FROM ${schema}.records r JOIN ${schema}.payloads p ON p.record = r.number ORDER BY r.number DESC LIMIT ${originals}`)
  for (const [from, to] of steps(copies)) {
    const each = `FROM generate_series(${from}, ${to}) AS c(copy), ${schema}.originals o`
    await run(`INSERT INTO ${schema}.records (number, digest, version, state, reports)
SELECT ${number}, decode(md5(o.nth || '.' || c.copy), 'hex'), o.version, o.state, o.reports ${each}`)
    await run(`INSERT INTO ${schema}.payloads (record, id, admitted_at, event, raw)
SELECT ${number}, o.id, ${time}, o.event, o.raw ${each}`)
  }
  await run(`DROP TABLE ${schema}.originals`)
  for (const table of ['records', 'payloads', 'due']) await run(`VACUUM (ANALYZE) ${schema}.${table}`)
}

/** Uses the tables of whole numbers that MariaDB provides. */
export async function copyInMysql(run: Run, prefix: string, copying: Copying): Promise<void> {
  const { originals, copies } = copying
  const [number, time] = [numberOf(copying), timeOf(copying)]
  const [records, payloads, copied] = [`${prefix}_records`, `${prefix}_payloads`, `${prefix}_originals`]
  await run(`CREATE TABLE ${copied} AS
SELECT ROW_NUMBER() OVER () AS nth, r.number, r.version, r.state, r.reports, p.id, p.event, p.raw
FROM ${records} r JOIN ${payloads} p ON p.record = r.number ORDER BY r.number DESC LIMIT ${originals}`)
  for (const [from, to] of steps(copies)) {
    const each = `FROM (SELECT seq AS copy FROM seq_${from}_to_${to}) AS c, ${copied} o`
    await run(`INSERT INTO ${records} (number, digest, version, state, reports)
SELECT ${number}, UNHEX(MD5(CONCAT(o.nth, '.', c.copy))), o.version, o.state, o.reports ${each}`)
    await run(`INSERT INTO ${payloads} (record, id, admitted_at, event, raw)
SELECT ${number}, o.id, ${time}, o.event, o.raw ${each}`)
  }
  await run(`DROP TABLE ${copied}`)
  await run(`ANALYZE TABLE ${records}, ${payloads}`)
}

/** Numbers of SQLite count arrivals, so that copies come after their originals. */
export function copyInSqlite(db: DatabaseSync, copying: Copying): void {
  const { originals, copies } = copying
  db.exec(`
PRAGMA synchronous = OFF;
PRAGMA cache_size = -1000000;
CREATE TEMP TABLE originals AS SELECT * FROM records ORDER BY number DESC LIMIT ${originals};
CREATE TEMP TABLE bodies AS SELECT * FROM payloads ORDER BY seq DESC LIMIT ${originals};
CREATE TEMP TABLE size AS SELECT max(number) AS records, (SELECT max(seq) FROM payloads) AS payloads FROM records`)
  const columns = 'state, waiting, due, worker, forget_day, send, sent_at, overdue_at'
  for (const [from, to] of steps(copies)) {
    const range = `WITH RECURSIVE c(copy) AS (SELECT ${from} UNION ALL SELECT copy + 1 FROM c WHERE copy < ${to})`
    db.exec(`
INSERT INTO records (number, key, ${columns}) ${range}
SELECT number + copy * size.records, randomblob(16), ${columns} FROM c, originals, size;
INSERT INTO payloads (seq, message, id, admitted_at, record, raw, error) ${range}
SELECT seq + copy * size.payloads, message + copy * size.records, id, ${timeOf(copying)}, record, raw, error FROM c, bodies, size`)
  }
}

/** A payload of Redis begins with the time of admission. */
const TIME_DIGITS = 15

/** Copies payloads and their records, all of which are ASCII here. `baseOf` returns the prefix of a record's keys. */
export async function copyInRedis(
  client: ReturnType<typeof createClient>,
  baseOf: (key: string) => string,
  { originals, copies, fromMs, gapMs }: Copying,
): Promise<void> {
  const found: (readonly [id: string, record: string, payload: string])[] = []
  for await (const names of client.scanIterator({ MATCH: '*:p:*', COUNT: 1_000 }))
    for (const name of names) {
      const [key = '', id = ''] = name.split(':').slice(-2)
      const [record, payload] = [await client.get(`${baseOf(key)}r:${key}`), await client.get(name)]
      if (record !== null && payload !== null) found.push([id, record, payload])
    }
  const newest = found.toSorted(([, , one], [, , other]) => (one < other ? 1 : -1)).slice(0, originals)
  for (let copy = 0; copy < copies; copy += 1) {
    const score = fromMs + copy * gapMs
    const time = String(score).padStart(TIME_DIGITS, '0')
    await Promise.all(
      newest.flatMap(([id, record, payload]) => {
        const key = randomBytes(16).toString('hex')
        const base = baseOf(key)
        return [
          client.set(`${base}r:${key}`, record),
          client.zAdd(`${base}records`, { score, value: key }),
          client.set(`${base}p:${key}:${id}`, time + payload.slice(TIME_DIGITS)),
          client.zAdd(`${base}events`, { score, value: `${id}:${key}` }),
        ]
      }),
    )
  }
}
