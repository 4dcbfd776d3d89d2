/** Corrupts each column of each table of a file, as a user of the `sqlite3` shell could. */
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HUGE, NEWER_RECORD, testDamages, type Damage, type DamageTarget, type SqlDamage } from '../damage.ts'
import { engineStore } from './engine-store.ts'

const payload = (column: string, how: string, value: string, leaves: Damage['leaves']): SqlDamage => ({
  name: `payloads.${column}: ${how}`,
  leaves,
  sql: `UPDATE payloads SET ${column} = ${value} WHERE seq = :seq`,
})

const message = (column: string, how: string, value: string, leaves: Damage['leaves'] = 'whole'): SqlDamage => ({
  name: `records.${column}: ${how}`,
  leaves,
  sql: `UPDATE records SET ${column} = ${value} WHERE number = :message`,
})

const blob = (text: string): string => `CAST('${text}' AS BLOB)`

const SQLITE_DAMAGES: readonly SqlDamage[] = [
  payload('record', 'not JSON', blob('not JSON at all'), 'part'),
  payload('record', 'truncated', 'substr(record, 1, length(record) - 9)', 'part'),
  payload('record', 'empty', `x''`, 'part'),
  payload('record', 'missing', 'NULL', 'part'),
  payload('record', 'an array', blob('[]'), 'part'),
  payload('record', 'null', blob('null'), 'part'),
  payload('record', 'another shape', blob('{"project":"My Shop"}'), 'part'),
  payload('record', 'fields of the wrong types', `CAST(replace(record, '"sms"', '5') AS BLOB)`, 'part'),
  payload('record', 'of a newer version', blob(NEWER_RECORD), 'part'),
  payload('record', 'no UTF-8', `x'FFFE00'`, 'part'),
  payload('raw', 'missing', 'NULL', 'less'),
  payload('raw', 'empty', `x''`, 'whole'),
  payload('raw', 'other bytes', `x'00FF'`, 'whole'),
  payload('id', 'shorter', `x'01'`, 'nothing'),
  payload('id', 'empty', `x''`, 'nothing'),
  payload('message', 'of none', '-7', 'nothing'),
  payload('message', 'of none, huge', HUGE, 'nothing'),
  payload('admitted_at', 'huge', HUGE, 'whole'),
  payload('admitted_at', 'negative', '-1', 'whole'),
  { name: 'payloads: the row is gone', leaves: 'nothing', sql: 'DELETE FROM payloads WHERE seq = :seq' },
  // The payloads give a different order than the suite's samples.
  { ...message('state', 'not JSON', `'no'`), scatters: true },
  { ...message('state', 'truncated', 'substr(state, 1, 40)'), scatters: true },
  { ...message('state', 'empty', `''`), scatters: true },
  { ...message('state', 'another shape', `'[1,0,"one"]'`), scatters: true },
  message('due', 'long ago', '0'),
  message('worker', 'unknown', HUGE),
  message('forget_day', 'huge', HUGE),
  { name: 'latest_time.at: never', leaves: 'whole', sql: `UPDATE latest_time SET at = ${HUGE}` },
  { name: 'latest_time.at: negative', leaves: 'whole', sql: 'UPDATE latest_time SET at = -1' },
  { name: 'latest_time: the row is gone', leaves: 'whole', sql: 'DELETE FROM latest_time' },
  { name: 'workers: an invalid name', leaves: 'whole', sql: `UPDATE workers SET name = '../..'` },
  { name: 'workers: the rows are gone', leaves: 'whole', sql: 'DELETE FROM workers' },
]

/** Applies it to the file, on its own connection. */
function damageFile(path: string, damage: SqlDamage, { id }: DamageTarget): void {
  const db = new DatabaseSync(path)
  try {
    db.exec('PRAGMA busy_timeout = 10000')
    const find = db.prepare('SELECT seq, message FROM payloads WHERE id = ?')
    const row = find.get(Buffer.from(id, 'hex'))
    if (row === undefined) throw new Error('The event to corrupt does not exist.')
    const sql = damage.sql.replaceAll(':seq', String(row['seq'])).replaceAll(':message', String(row['message']))
    const { changes } = db.prepare(sql).run()
    if (changes === 0) throw new Error(`No rows were corrupted by ${damage.name}.`)
  } finally {
    db.close()
  }
}

testDamages({
  makeStore() {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-damage-'))
    const path = join(folder, 'inbox.db')
    return {
      store: engineStore(path),
      damage: (damage, target) => damageFile(path, damage, target),
      dispose: () => rmSync(folder, { recursive: true }),
    }
  },
  damages: SQLITE_DAMAGES,
})
