/** Each column of each table, spoilt as somebody with `psql` would, or with the rights of a superuser. */
import type { Damage, DamageTarget } from 'messaging-webhooks/store-conformance'
import { onServer } from './schema.ts'

interface SqlDamage extends Damage {
  /** With `:id` (the event's, as bytes), `:message` (the number of its message) and `:key` (of its message). */
  readonly sql: string
}

type Leaves = Damage['leaves']

const HUGE = '9223372036854775807'
/** The next to what a number in JavaScript holds exactly. */
const BEYOND_EXACT = '9007199254740993'
const NONE = '(-7)'
const ANOTHER = '(SELECT id FROM {schema}.messages WHERE id <> :message ORDER BY id LIMIT 1)'
/** As an order has it, but of no event. */
const FAR_ORDER = `'9999999999993999999999999ffff'`

const NEWER_RECORD = JSON.stringify({
  project: 'My Shop',
  kind: 'status',
  timestamp: 1_700_000_001,
  timestampSource: 'carrier',
  receivedAtMs: 0,
  proof: 'both',
  report: { type: 'message.resent', shape: 'sms', messageId: 'spoilt', channel: 'sms', status: 'spoilt-1' },
})

type At = Pick<Damage, 'at'>
const UNSETTLED: At = { at: ['while it waits', 'before a restart', 'while leased'] }
const DEAD: At = { at: ['once dead'] }
const ALWAYS: At = {}
const AT_THE_START: At = { at: ['while it waits', 'before a restart'] }

function change(table: string, where: string, at: At) {
  return (column: string, how: string, value: string, leaves: Leaves = 'whole'): SqlDamage => ({
    name: `${table}.${column}: ${how}`,
    leaves,
    ...at,
    sql: `UPDATE {schema}.${table} SET ${column} = ${value} WHERE ${where}`,
  })
}

const messages = change('messages', 'id = :message', ALWAYS)
const events = change('events', 'message = :message AND id = :id', ALWAYS)
const waiting = change('waiting', 'message = :message AND id = :id', UNSETTLED)
const deadLetters = change('dead_letters', 'message = :message AND id = :id', DEAD)
const latestTime = change('latest_time', 'true', AT_THE_START)

const scattered = (damage: SqlDamage): SqlDamage => ({ ...damage, scatters: true })
const bytea = (text: string): string => `convert_to('${text}', 'UTF8')`

function gone(table: string, leaves: Leaves, at: At, where = 'message = :message AND id = :id'): SqlDamage {
  return { name: `${table}: the row is gone`, leaves, ...at, sql: `DELETE FROM {schema}.${table} WHERE ${where}` }
}

const DAMAGES: readonly SqlDamage[] = [
  messages('expected', 'not JSON', bytea('not JSON at all')),
  messages('expected', 'another shape', bytea('{"sentAtMs":"now"}')),
  messages('sent_at', 'huge', HUGE),
  messages('sent_at', 'negative', '-7'),
  messages('overdue_at', 'huge', HUGE),
  messages('overdue_at', 'over', '1'),
  messages('overdue_at', 'negative', '-7'),
  scattered(messages('key', 'another', `'\\x00'`)),
  scattered(messages('key', 'empty', `''`)),
  scattered(messages('key', 'a long one', `decode(repeat('ab', 500), 'hex')`)),
  messages('steps', 'all', '-1'),
  messages('steps', 'huge', '2147483647'),
  messages('handed', 'no order', `'zzz'`),
  messages('handed', 'empty', `''`),
  messages('handed', 'huge', `repeat('z', 1000000)`),
  messages('handed', 'of no event', FAR_ORDER),
  messages('handed_open', 'no order', `'zzz'`),
  messages('handed_open', 'of no event', FAR_ORDER),
  messages('token', 'huge', HUGE),
  messages('token', 'beyond what is exact', BEYOND_EXACT),
  messages('token', 'the least', `-${HUGE} - 1`),
  messages('token', 'minus one', '-1'),
  messages('token', 'zero', '0'),
  scattered(gone('messages', 'whole', ALWAYS, 'id = :message')),
  scattered({
    name: 'messages.id: another',
    leaves: 'whole',
    sql: `INSERT INTO {schema}.messages (id, key, steps, handed, handed_open, token) OVERRIDING SYSTEM VALUE
      SELECT id + 1000000, '\\x01', steps, handed, handed_open, token FROM {schema}.messages WHERE id = :message;
      DELETE FROM {schema}.messages WHERE id = :message;
      UPDATE {schema}.messages SET key = :key WHERE key = '\\x01'`,
  }),
  {
    name: 'messages.id: the next one, of nobody',
    leaves: 'whole',
    sql: `INSERT INTO {schema}.messages (id, key, steps, handed, handed_open, token) OVERRIDING SYSTEM VALUE
      SELECT max(id) + 1, '\\x01', 0, '', '', 0 FROM {schema}.messages`,
  },

  events('message', 'of none', NONE, 'less'),
  events('message', 'of none, huge', HUGE, 'less'),
  // Of one that has no latest state: nothing tells a report that was moved from one of its new message.
  events(
    'message',
    'of another',
    `(SELECT message FROM {schema}.events WHERE ord = '' ORDER BY message LIMIT 1)`,
    'less',
  ),
  events('id', 'shorter', `'\\x01'`),
  events('id', 'empty', `''`),
  events('ord', 'no order', `'zzz'`),
  events('ord', 'of no event', FAR_ORDER),
  events('ord', 'empty', `''`),
  events('ord', 'huge', `repeat('9', 1000000)`),
  events('final', 'the other one', 'NOT final'),
  events('since', 'never', HUGE),
  events('since', 'long ago', `-${HUGE} - 1`),
  events('since', 'zero', '0'),
  events('record', 'not JSON', bytea('not JSON at all'), 'part'),
  events('record', 'truncated', 'substring(record FOR length(record) - 9)', 'part'),
  events('record', 'empty', `''`, 'part'),
  events('record', 'missing', 'NULL', 'part'),
  events('record', 'an array', bytea('[]'), 'part'),
  events('record', 'null', bytea('null'), 'part'),
  events('record', 'another shape', bytea('{"project":"My Shop"}'), 'part'),
  events(
    'record',
    'fields of the wrong types',
    `convert_to(replace(convert_from(record, 'UTF8'), '"sms"', '5'), 'UTF8')`,
    'part',
  ),
  events('record', 'of a newer version', bytea(NEWER_RECORD), 'part'),
  events('record', 'no UTF-8', `'\\xfffe00'`, 'part'),
  events('raw', 'missing', 'NULL', 'less'),
  // Nothing tells these from what a sender may send.
  events('raw', 'empty', `''`),
  events('raw', 'other bytes', `'\\x00ff'`),
  gone('events', 'less', ALWAYS),

  waiting('message', 'of none', NONE, 'less'),
  waiting('message', 'of none, huge', HUGE, 'less'),
  waiting('message', 'of another', ANOTHER, 'less'),
  waiting('ord', 'no order', `'zzz'`),
  waiting('ord', 'before all', `''`),
  waiting('ord', 'of no event', FAR_ORDER),
  waiting('id', 'shorter', `'\\x01'`),
  waiting('id', 'empty', `''`),
  waiting('final', 'the other one', 'NOT final'),
  waiting('awaits', 'a step that is none', '4096'),
  waiting('awaits', 'all', '-1'),
  waiting('late', 'the other one', 'NOT late'),
  waiting('replay', 'the other one', 'NOT replay'),
  waiting('admitted', 'huge', HUGE),
  waiting('admitted', 'the least', `-${HUGE} - 1`),
  waiting('due', 'never', HUGE),
  waiting('due', 'long ago', `-${HUGE} - 1`),
  waiting('due', 'beyond what is exact', BEYOND_EXACT),
  waiting('attempts', 'huge', '2147483647'),
  waiting('attempts', 'the least', '-2147483648'),
  waiting('attempts', 'minus one', '-1'),
  waiting('token', 'huge', HUGE),
  waiting('token', 'beyond what is exact', BEYOND_EXACT),
  waiting('token', 'negative', '-1'),
  waiting('turn', 'missing', 'NULL'),
  waiting('turn', 'never', HUGE),
  waiting('turn', 'beyond what is exact', BEYOND_EXACT),
  waiting('turn', 'long ago', `-${HUGE} - 1`),
  waiting('leased', 'the other one', 'NOT leased'),
  {
    name: 'waiting.leased: of all of the message',
    leaves: 'whole',
    ...UNSETTLED,
    sql: 'UPDATE {schema}.waiting SET leased = true WHERE message = :message',
  },
  {
    name: 'waiting.turn: on all of the message',
    leaves: 'whole',
    ...UNSETTLED,
    sql: 'UPDATE {schema}.waiting SET turn = coalesce(turn, 0) WHERE message = :message',
  },
  {
    name: 'waiting.turn: on the others of the message only',
    leaves: 'whole',
    ...UNSETTLED,
    sql: 'UPDATE {schema}.waiting SET turn = CASE WHEN id = :id THEN NULL ELSE 0 END WHERE message = :message',
  },
  {
    name: 'waiting: the row is there twice, last',
    leaves: 'whole',
    ...UNSETTLED,
    sql: `INSERT INTO {schema}.waiting
      SELECT message, 'zzz', id, final, awaits, late, replay, admitted, due, attempts, token, turn, leased
      FROM {schema}.waiting WHERE message = :message AND id = :id`,
  },
  {
    name: 'waiting: the row is there twice, first',
    leaves: 'whole',
    ...UNSETTLED,
    sql: `INSERT INTO {schema}.waiting
      SELECT message, '', id, final, awaits, late, replay, admitted, due, attempts, token, turn, leased
      FROM {schema}.waiting WHERE message = :message AND id = :id`,
  },
  gone('waiting', 'nothing', UNSETTLED),

  deadLetters('message', 'of none', NONE),
  deadLetters('message', 'of another', ANOTHER),
  deadLetters('id', 'shorter', `'\\x01'`),
  deadLetters('id', 'empty', `''`),
  deadLetters('ord', 'no order', `'zzz'`),
  deadLetters('awaits', 'all', '-1'),
  deadLetters('attempts', 'the least', '-2147483648'),
  deadLetters('error', 'empty', `''`),
  deadLetters('error', 'no UTF-8', `'\\xfffe00'`),
  deadLetters('ended_at', 'never', HUGE),
  deadLetters('ended_at', 'beyond what is exact', BEYOND_EXACT),
  deadLetters('ended_at', 'long ago', `-${HUGE} - 1`),
  deadLetters('ended_at', 'zero', '0'),
  {
    name: 'dead_letters.seq: huge',
    leaves: 'whole',
    ...DEAD,
    sql: `INSERT INTO {schema}.dead_letters (seq, message, id, ord, awaits, attempts, error, ended_at) OVERRIDING SYSTEM VALUE
      SELECT ${HUGE}, message, '\\x00', ord, awaits, attempts, error, ended_at FROM {schema}.dead_letters WHERE id = :id;
      DELETE FROM {schema}.dead_letters WHERE id = :id;
      UPDATE {schema}.dead_letters SET id = :id WHERE id = '\\x00'`,
  },
  {
    name: 'dead_letters: the row is there twice, of another message',
    leaves: 'whole',
    ...DEAD,
    sql: `INSERT INTO {schema}.dead_letters (message, id, ord, awaits, attempts, error, ended_at)
      SELECT ${ANOTHER}, id, ord, awaits, attempts, error, ended_at FROM {schema}.dead_letters WHERE id = :id`,
  },
  gone('dead_letters', 'nothing', DEAD),

  latestTime('told', 'never', HUGE),
  latestTime('told', 'beyond what is exact', BEYOND_EXACT),
  latestTime('told', 'negative', '-1'),
  { name: 'latest_time: the row is gone', leaves: 'whole', ...AT_THE_START, sql: 'DELETE FROM {schema}.latest_time' },
  {
    name: 'latest_time: the row is there twice',
    leaves: 'whole',
    ...AT_THE_START,
    sql: 'INSERT INTO {schema}.latest_time VALUES (5)',
  },
]

/** What the suite is told of them. */
export const POSTGRES_DAMAGES: readonly Damage[] = DAMAGES

/** Does it, on a connection of its own. */
export async function damageTables(schema: string, name: string, { id, messageKey }: DamageTarget): Promise<void> {
  const found = DAMAGES.find((each) => each.name === name)
  if (found === undefined) throw new Error(`There is no damage ${name}.`)
  const key = `'\\x${messageKey}'::bytea`
  await onServer(async (client) => {
    const { rows } = await client.query<{ id: string }>(`SELECT id FROM "${schema}".messages WHERE key = ${key}`)
    const [message] = rows
    if (message === undefined) throw new Error('The message to be spoilt is not there.')
    const sql = found.sql
      .replaceAll('{schema}', `"${schema}"`)
      .replaceAll(':message', message.id)
      .replaceAll(':key', key)
      .replaceAll(':id', `'\\x${id}'::bytea`)
    const results = [await client.query(sql)].flat()
    if (results.some(({ rowCount }) => rowCount === 0)) throw new Error(`Nothing was spoilt by ${name}.`)
  })
}
