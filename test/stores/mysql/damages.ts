/** Corrupts each column of each table, as a user of `mariadb` could. */
import { HUGE, NEWER_RECORD, type Damage, type DamageTarget, type SqlDamage } from '../damage.ts'
import { rowsChanged, rowsOf } from './database.ts'

const payload = (column: string, how: string, value: string, leaves: Damage['leaves']): SqlDamage => ({
  name: `payloads.${column}: ${how}`,
  leaves,
  sql: `UPDATE {payloads} SET ${column} = ${value} WHERE record = :record AND id = :id`,
})

const record = (column: string, how: string, value: string, scatters?: true): SqlDamage => ({
  name: `records.${column}: ${how}`,
  leaves: 'whole',
  ...(scatters && { scatters }),
  sql: `UPDATE {records} SET ${column} = ${value} WHERE number = :record`,
})

const UNSETTLED: Pick<Damage, 'at'> = { at: ['while it waits', 'before a restart', 'while leased'] }

export const MYSQL_DAMAGES: readonly SqlDamage[] = [
  payload('event', 'not JSON', `'not JSON at all'`, 'part'),
  payload('event', 'missing', 'NULL', 'part'),
  payload('event', 'of a newer version', `'${NEWER_RECORD}'`, 'part'),
  payload('event', 'no UTF-8', `x'fffe00'`, 'part'),
  payload('raw', 'missing', 'NULL', 'less'),
  payload('raw', 'empty', `''`, 'whole'),
  payload('raw', 'other bytes', `x'00ff'`, 'whole'),
  payload('id', 'shorter', `x'01'`, 'nothing'),
  payload('record', 'of none', '-7', 'nothing'),
  payload('record', 'of none, huge', HUGE, 'nothing'),
  payload('admitted_at', 'negative', '-1', 'whole'),
  {
    name: 'payloads: the row is gone',
    leaves: 'nothing',
    sql: 'DELETE FROM {payloads} WHERE record = :record AND id = :id',
  },
  // The payloads give a different order than the suite's samples.
  record('state', 'not JSON', `'no'`, true),
  record('state', 'no UTF-8', `x'fffe00'`, true),
  record('reports', 'not JSON', `'no'`, true),
  record('reports', 'missing', 'NULL', true),
  record('version', 'another', 'version + 7'),
  record('overflow_of', 'of none', `x'00'`),
  record('send', 'not JSON', `'no', sent_at = 1`),
  {
    name: 'records.due_at: long ago',
    leaves: 'whole',
    at: ['while it waits', 'before a restart'],
    sql: 'UPDATE {records} SET due_at = 0 WHERE number = :record',
  },
  {
    name: 'records.worker: unknown',
    leaves: 'whole',
    ...UNSETTLED,
    sql: `UPDATE {records} SET worker = ${HUGE} WHERE number = :record`,
  },
  { name: 'workers: the row is gone', leaves: 'whole', sql: 'DELETE FROM {workers}' },
  { name: 'workers.list: not JSON', leaves: 'whole', sql: `UPDATE {workers} SET list = 'no'` },
]

/** Applies it on its own connection. */
export async function damageTables(prefix: string, damage: SqlDamage, { id, messageKey }: DamageTarget): Promise<void> {
  const [row] = await rowsOf(`SELECT number FROM \`${prefix}_records\` WHERE digest = x'${messageKey}'`)
  if (row === undefined) throw new Error('The message to corrupt does not exist.')
  const sql = damage.sql
    .replaceAll(/\{(payloads|records|workers)\}/g, `\`${prefix}_$1\``)
    .replaceAll(':record', String(row['number']))
    .replaceAll(':id', `x'${id}'`)
  if ((await rowsChanged(sql)) === 0) throw new Error(`No rows were corrupted by ${damage.name}.`)
}
