/** Corrupts each column of each table, as a user of `psql` or a superuser could. */
import { HUGE, NEWER_RECORD, type Damage, type DamageTarget, type SqlDamage } from '../damage.ts'
import { onServer } from './schema.ts'

const bytea = (text: string): string => `convert_to('${text}', 'UTF8')`

const payload = (column: string, how: string, value: string, leaves: Damage['leaves']): SqlDamage => ({
  name: `payloads.${column}: ${how}`,
  leaves,
  sql: `UPDATE {schema}.payloads SET ${column} = ${value} WHERE record = :record AND id = :id`,
})

const record = (column: string, how: string, value: string, scatters?: true): SqlDamage => ({
  name: `records.${column}: ${how}`,
  leaves: 'whole',
  ...(scatters && { scatters }),
  sql: `UPDATE {schema}.records SET ${column} = ${value} WHERE number = :record`,
})

const UNSETTLED: Pick<Damage, 'at'> = { at: ['while it waits', 'before a restart', 'while leased'] }

export const POSTGRES_DAMAGES: readonly SqlDamage[] = [
  payload('event', 'not JSON', bytea('not JSON at all'), 'part'),
  payload('event', 'missing', 'NULL', 'part'),
  payload('event', 'of a newer version', bytea(NEWER_RECORD), 'part'),
  payload('event', 'no UTF-8', `'\\xfffe00'`, 'part'),
  payload('raw', 'missing', 'NULL', 'less'),
  payload('raw', 'empty', `''`, 'whole'),
  payload('raw', 'other bytes', `'\\x00ff'`, 'whole'),
  payload('id', 'shorter', `'\\x01'`, 'nothing'),
  payload('record', 'of none', '-7', 'nothing'),
  payload('record', 'of none, huge', HUGE, 'nothing'),
  payload('admitted_at', 'negative', '-1', 'whole'),
  {
    name: 'payloads: the row is gone',
    leaves: 'nothing',
    sql: 'DELETE FROM {schema}.payloads WHERE record = :record AND id = :id',
  },
  // The payloads give a different order than the suite's samples.
  record('state', 'not JSON', bytea('no'), true),
  record('state', 'no UTF-8', `'\\xfffe00'`, true),
  record('reports', 'not JSON', bytea('no'), true),
  record('version', 'another', 'version + 7'),

  record('of', 'of none', `'\\x00'`),
  record('send', 'not JSON', `convert_to('no', 'UTF8'), sent_at = 1`),
  {
    name: 'due.at: long ago',
    leaves: 'whole',
    at: ['while it waits', 'before a restart'],
    sql: 'UPDATE {schema}.due SET at = 0 WHERE record = :record',
  },
  {
    name: 'due.worker: unknown',
    leaves: 'whole',
    ...UNSETTLED,
    sql: `UPDATE {schema}.due SET worker = ${HUGE} WHERE record = :record`,
  },
  { name: 'workers: the rows are gone', leaves: 'whole', sql: 'DELETE FROM {schema}.workers' },
]

/** Applies it on its own connection. */
export async function damageTables(schema: string, damage: SqlDamage, { id, messageKey }: DamageTarget): Promise<void> {
  await onServer(async (client) => {
    const key = `'\\x${messageKey}'::bytea`
    const { rows } = await client.query<{ number: string }>(`SELECT number FROM "${schema}".records WHERE key = ${key}`)
    const [row] = rows
    if (row === undefined) throw new Error('The message to corrupt does not exist.')
    const sql = damage.sql
      .replaceAll('{schema}', `"${schema}"`)
      .replaceAll(':record', row.number)
      .replaceAll(':id', `'\\x${id}'::bytea`)
    const { rowCount } = await client.query(sql)
    if (rowCount === 0) throw new Error(`No rows were corrupted by ${damage.name}.`)
  })
}
