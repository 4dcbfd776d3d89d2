/** Corrupts each column of the tables of Postgres and MySQL, as a user of `psql` or `mariadb` could. */
import { HUGE, NEWER_RECORD, type Damage, type DamageTarget, type SqlDamage } from './damage.ts'

/** How a database writes what is corrupted, and how it is reached, on a connection of its own. */
export interface SqlDialect {
  /** A text as the bytes of a column. */
  readonly text: (text: string) => string
  readonly bytes: (hex: string) => string
  readonly table: (name: string) => string
  /** Where the record of the message with this key is found. */
  readonly numberOf: (messageKey: string) => Promise<unknown>
  /** Returns the number of rows. */
  readonly change: (sql: string) => Promise<number>
}

const UNSETTLED: Damage['at'] = ['while it waits', 'before a restart', 'while leased']
const WAITS: Damage['at'] = ['while it waits', 'before a restart']

/** A damage of the record of the message. */
export function ofRecord(column: string, how: string, value: string, scatters?: true): SqlDamage {
  const sql = `UPDATE {records} SET ${column} = ${value} WHERE number = :record`
  return { name: `records.${column}: ${how}`, leaves: 'whole', ...(scatters && { scatters }), sql }
}

/** What both have. `due`: where the times of a record are, and its number. */
export function sqlDamages(
  { text, bytes }: Pick<SqlDialect, 'text' | 'bytes'>,
  { due }: { readonly due: readonly [table: string, at: string, number: string] },
): readonly SqlDamage[] {
  const payload = (column: string, how: string, value: string, leaves: Damage['leaves']): SqlDamage => ({
    name: `payloads.${column}: ${how}`,
    leaves,
    sql: `UPDATE {payloads} SET ${column} = ${value} WHERE record = :record AND id = :id`,
  })
  const [table, at, number] = due
  const ofDue = (column: string, how: string, value: string, when: Damage['at']): SqlDamage => ({
    name: `${table}.${column}: ${how}`,
    leaves: 'whole',
    at: when,
    sql: `UPDATE {${table}} SET ${column} = ${value} WHERE ${number} = :record`,
  })
  return [
    payload('event', 'not JSON', text('not JSON at all'), 'part'),
    payload('event', 'missing', 'NULL', 'part'),
    payload('event', 'of a newer version', text(NEWER_RECORD), 'part'),
    payload('event', 'no UTF-8', bytes('fffe00'), 'part'),
    payload('raw', 'missing', 'NULL', 'less'),
    payload('raw', 'empty', `''`, 'whole'),
    payload('raw', 'other bytes', bytes('00ff'), 'whole'),
    payload('id', 'shorter', bytes('01'), 'nothing'),
    payload('record', 'of none', '-7', 'nothing'),
    payload('record', 'of none, huge', HUGE, 'nothing'),
    payload('admitted_at', 'negative', '-1', 'whole'),
    {
      name: 'payloads: the row is gone',
      leaves: 'nothing',
      sql: 'DELETE FROM {payloads} WHERE record = :record AND id = :id',
    },
    // The payloads give a different order than the suite's samples.
    ofRecord('state', 'not JSON', text('no'), true),
    ofRecord('state', 'no UTF-8', bytes('fffe00'), true),
    ofRecord('reports', 'not JSON', text('no'), true),
    ofRecord('version', 'another', 'version + 7'),
    ofRecord('send', 'not JSON', `${text('no')}, sent_at = 1`),
    ofDue(at, 'long ago', '0', WAITS),
    ofDue('worker', 'unknown', HUGE, UNSETTLED),
    { name: 'workers: the rows are gone', leaves: 'whole', sql: 'DELETE FROM {workers}' },
  ]
}

export async function damageTables(
  { bytes, table, numberOf, change }: SqlDialect,
  damage: SqlDamage,
  { id, messageKey }: DamageTarget,
): Promise<void> {
  const sql = damage.sql
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => table(name))
    .replaceAll(':record', String(await numberOf(messageKey)))
    .replaceAll(':id', bytes(id))
  if ((await change(sql)) === 0) throw new Error(`No rows were corrupted by ${damage.name}.`)
}
