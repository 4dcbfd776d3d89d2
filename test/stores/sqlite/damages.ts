/** Each column of each table, spoilt as somebody with the `sqlite3` shell would. */
import { DatabaseSync } from 'node:sqlite'
import type { Damage, DamageTarget } from 'messaging-webhooks/store-conformance'

interface SqlDamage extends Damage {
  /** With `:id` and `:message`, the row's own and its message's. */
  readonly sql: string
}

const HUGE = '9223372036854775807'

const NEWER_RECORD = JSON.stringify({
  project: 'My Shop',
  kind: 'status',
  timestamp: 1_700_000_001,
  timestampSource: 'carrier',
  receivedAtMs: 0,
  proof: 'both',
  report: { type: 'message.resent', shape: 'sms', messageId: 'spoilt', channel: 'sms', status: 'spoilt-1' },
})

const event = (column: string, how: string, value: string, leaves: Damage['leaves']): SqlDamage => ({
  name: `events.${column}: ${how}`,
  leaves,
  sql: `UPDATE events SET ${column} = ${value} WHERE seq = :seq`,
})

const message = (column: string, how: string, value: string, leaves: Damage['leaves'] = 'whole'): SqlDamage => ({
  name: `messages.${column}: ${how}`,
  leaves,
  sql: `UPDATE messages SET ${column} = ${value} WHERE rowid = :message`,
})

const blob = (text: string): string => `CAST('${text}' AS BLOB)`

const DAMAGES: readonly SqlDamage[] = [
  message('expected', 'not JSON', blob('not JSON at all')),
  message('expected', 'another shape', blob('{"sentAtMs":"now"}')),
  message('sent_at', 'huge', HUGE),
  message('sent_at', 'negative', '-7'),
  message('overdue_at', 'huge', HUGE),
  message('overdue_at', 'over', '1'),
  message('overdue_at', 'negative', '-7'),
  event('record', 'not JSON', blob('not JSON at all'), 'part'),
  event('record', 'truncated', 'substr(record, 1, length(record) - 9)', 'part'),
  event('record', 'empty', `x''`, 'part'),
  event('record', 'missing', 'NULL', 'part'),
  event('record', 'an array', blob('[]'), 'part'),
  event('record', 'null', blob('null'), 'part'),
  event('record', 'another shape', blob('{"project":"My Shop"}'), 'part'),
  event('record', 'fields of the wrong types', `CAST(replace(record, '"sms"', '5') AS BLOB)`, 'part'),
  event('record', 'of a newer version', blob(NEWER_RECORD), 'part'),
  event('record', 'no UTF-8', `x'FFFE00'`, 'part'),
  event('raw', 'missing', 'NULL', 'less'),
  event('raw', 'empty', `x''`, 'whole'),
  event('raw', 'other bytes', `x'00FF'`, 'whole'),
  event('id', 'shorter', `x'01'`, 'whole'),
  event('id', 'empty', `x''`, 'whole'),
  { ...event('message', 'of none', '-7', 'whole'), scatters: true },
  { ...event('message', 'of none, huge', HUGE, 'whole'), scatters: true },
  {
    ...event('message', 'of another', `(SELECT rowid FROM messages WHERE rowid <> :message LIMIT 1)`, 'whole'),
    scatters: true,
  },
  { ...event('ord', 'empty', `''`, 'whole') },
  { ...event('ord', 'no order', `'zzz'`, 'whole') },
  event('final', 'neither', '-3', 'whole'),
  event('awaits', 'a step that is none', '4096', 'whole'),
  event('due', 'never', HUGE, 'whole'),
  event('due', 'long ago', `-${HUGE}`, 'whole'),
  event('late', 'neither', '7', 'whole'),
  event('replay', 'neither', '7', 'whole'),
  event('attempts', 'huge', HUGE, 'whole'),
  event('attempts', 'negative', '-5', 'whole'),
  event('token', 'huge', HUGE, 'whole'),
  event('token', 'negative', '-1', 'whole'),
  event('admitted_at', 'huge', HUGE, 'whole'),
  event('admitted_at', 'negative', '-1', 'whole'),
  event('ended_at', 'huge', HUGE, 'whole'),
  event('ended_at', 'negative', `-${HUGE}`, 'whole'),
  event('error', 'missing', 'NULL', 'whole'),
  {
    name: 'events: dead without a word',
    leaves: 'either',
    sql: 'UPDATE events SET state = 2, ended_at = admitted_at WHERE seq = :seq',
  },
  { name: 'events: the row is gone', leaves: 'nothing', sql: 'DELETE FROM events WHERE seq = :seq' },
  { ...message('key', 'another', `x'00'`), scatters: true },
  { ...message('key', 'empty', `x''`), scatters: true },
  message('steps', 'huge', HUGE),
  message('steps', 'negative', '-1'),
  message('handed', 'no order', `'zzz'`),
  message('handed_open', 'no order', `'zzz'`),
  message('token', 'huge', HUGE),
  message('token', 'negative', '-9'),
  message('lease_token', 'of nobody', '77'),
  message('lease_token', 'huge', HUGE),
  message('lease_token', 'none', '0'),
  message('due', 'missing', 'NULL'),
  message('due', 'never', HUGE),
  message('due', 'long ago', `-${HUGE}`),
  message('latest', 'not JSON', blob('no')),
  message('latest', 'truncated', 'substr(latest, 1, 40)'),
  message('latest', 'another shape', blob('{"order":"1","record":{},"finals":[{}]}')),
  message('latest', 'missing', 'NULL'),
  message('holder', 'nobody', HUGE),
  {
    name: 'messages: the row is gone',
    leaves: 'whole',
    scatters: true,
    sql: 'DELETE FROM messages WHERE rowid = :message',
  },
  { name: 'latest_time.told: never', leaves: 'whole', sql: `UPDATE latest_time SET told = ${HUGE}` },
  { name: 'latest_time.told: negative', leaves: 'whole', sql: 'UPDATE latest_time SET told = -1' },
  { name: 'latest_time: the row is gone', leaves: 'whole', sql: 'DELETE FROM latest_time' },
  { name: 'holders: a name that is none', leaves: 'whole', sql: `UPDATE holders SET name = '../..'` },
  { name: 'holders: the rows are gone', leaves: 'whole', sql: 'DELETE FROM holders' },
]

/** What the suite is told of them. */
export const SQLITE_DAMAGES: readonly Damage[] = DAMAGES

/** Does it in the file, on a connection of its own. */
export function damageFile(path: string, name: string, { id }: DamageTarget): void {
  const found = DAMAGES.find((each) => each.name === name)
  if (found === undefined) throw new Error(`There is no damage ${name}.`)
  const db = new DatabaseSync(path)
  try {
    db.exec('PRAGMA busy_timeout = 10000')
    const find = db.prepare('SELECT seq, message FROM events WHERE id = ?')
    const row = find.get(Buffer.from(id, 'hex'))
    if (row === undefined) throw new Error('The event to be spoilt is not there.')
    const sql = found.sql.replaceAll(':seq', String(row['seq'])).replaceAll(':message', String(row['message']))
    const { changes } = db.prepare(sql).run()
    if (changes === 0) throw new Error(`Nothing was spoilt by ${name}.`)
  } finally {
    db.close()
  }
}
