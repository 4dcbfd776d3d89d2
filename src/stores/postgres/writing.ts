/**
 * Writes records, each if its version is still the expected one: all of a batch in one statement, made of the parts that this batch
 * needs. A write of one record is planned as if it had been written by hand.
 */
import { monotonicMs } from '../../clock.ts'
import type { SharedStore, VersionedChange } from '../../inbox/record-store.ts'
import { encodeRecord, encodeSend } from '../../inbox/runtime/codec.ts'
import { dueMark, lastDay, overdueMark } from '../../messages/marks.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { digestValue, integer, numberValue, orNull, textValue, bytesValue, valuesList } from './encoding.ts'
import type { Engine, Together } from './engine.ts'

/** Of a new record: a number that a record of the same key, forgotten since, had not. */
const firstVersion = (): number => Math.floor(Math.random() * 2 ** 40)

interface Change extends VersionedChange {
  /** What could not be read of the stored record. */
  readonly repairs?: 'state' | 'send'
}

/** Rows of one statement, each with the place of its change. */
interface Parts {
  readonly payloads: string[][]
  readonly dead: string[][]
  readonly revived: string[][]
  readonly removed: string[][]
}

export function createWriting(engine: Engine, together: Together) {
  const { sql, isTime, hear } = engine

  async function writeAll(changes: readonly Change[], statement: string, asOfMs: number | undefined) {
    const sentMs = monotonicMs()
    const [rows = [], [time] = []] = await together(sql(`${statement};\nSELECT {now} AS now;`))
    hear(time, asOfMs, sentMs)
    const versions: (number | undefined)[] = changes.map(() => undefined)
    for (const row of rows) versions[integer(row, 'place')] = integer(row, 'version')
    return versions
  }

  return async (changes: readonly Change[], asOfMs: number | undefined): ReturnType<SharedStore['write']> => {
    const [first] = changes
    if (first === undefined) return []
    if (first.after === undefined) return writeAll(changes, removal(changes), asOfMs)
    return writeAll(changes, writing(changes, isTime(asOfMs)), asOfMs)
  }
}

/** Puts these records, with all that changes beside them. */
function writing(changes: readonly Change[], isTime: string): string {
  const written = changes.flatMap((change, place): readonly Written[] =>
    change.after === undefined ? [] : [{ change, place, record: change.after }],
  )
  const columns = written.some(({ change }) => writesSend(change)) ? [...STATE, ...SEND] : STATE
  const [only] = written
  const steps =
    only !== undefined && written.length === 1
      ? stepsOfOne(only, columns, isTime)
      : stepsOfMany(written, columns, isTime)
  return `WITH ${[...steps, ...stepsBeside(partsOf(changes), changes)].join(',\n')}
SELECT place, version FROM applied`
}

interface Written {
  readonly change: Change
  readonly place: number
  readonly record: MessageRecord
}

const STATE = ['state', 'last_day']
const SEND = ['send', 'sent_at', 'overdue_at', 'of']
const TYPES: Readonly<Record<string, string>> = {
  place: 'integer',
  key: 'bytea',
  expected: 'bigint',
  state: 'bytea',
  last_day: 'integer',
  send: 'bytea',
  sent_at: 'bigint',
  overdue_at: 'bigint',
  of: 'bytea',
  at: 'bigint',
  worker: 'bigint',
  waiting: 'integer',
}

/** Without a list of values, a plan takes half the time. */
function stepsOfOne({ change, place, record }: Written, columns: readonly string[], isTime: string): readonly string[] {
  const values = valuesOf(record, columns)
  const returning = `RETURNING number, version, ${place} AS place`
  const { expected } = change
  const key = digestValue(change.key)
  const applied =
    expected === undefined
      ? `INSERT INTO {schema}.records (key, version, ${columns.join(', ')})
  SELECT ${key}, ${firstVersion()}, ${values.join(', ')} WHERE ${isTime} ON CONFLICT (key) DO NOTHING ${returning}`
      : `UPDATE {schema}.records SET version = version + 1, ${columns.map((name, index) => `${name} = ${values[index] ?? 'NULL'}`).join(', ')}
  WHERE key = ${key} AND version = ${expected} AND ${isTime} ${returning}`
  const steps = [`applied AS (${applied})`]
  const queue = queueOf(record)
  if (queue !== undefined)
    steps.push(`queued AS (
  INSERT INTO {schema}.due (record, at, worker, waiting) SELECT number, ${queue.join(', ')} FROM applied
  ${expected === undefined ? '' : REQUEUED}
)`)
  else if (expected !== undefined)
    steps.push('ended AS (DELETE FROM {schema}.due d USING applied a WHERE d.record = a.number)')
  return steps
}

function stepsOfMany(written: readonly Written[], columns: readonly string[], isTime: string): readonly string[] {
  const isNew = ({ change }: Written): boolean => change.expected === undefined
  const [hasNew, hasKnown] = [written.some(isNew), !written.every(isNew)]
  const rows = written.map(({ change: { key, expected }, place, record }) => [
    String(place),
    digestValue(key),
    orNull(expected, numberValue),
    ...valuesOf(record, columns),
    ...(queueOf(record) ?? ['NULL', 'NULL', 'NULL']),
  ])
  const names = ['place', 'key', 'expected', ...columns, 'at', 'worker', 'waiting']
  const types = names.map((name) => TYPES[name] ?? 'text')
  const steps = [`u (${names.join(', ')}) AS NOT MATERIALIZED (${valuesList(rows, types)})`]
  if (hasNew)
    steps.push(`made AS (
  INSERT INTO {schema}.records (key, version, ${columns.join(', ')})
  SELECT u.key, ${firstVersion()}, ${columns.map((name) => `u.${name}`).join(', ')} FROM u WHERE u.expected IS NULL AND ${isTime}
  ON CONFLICT (key) DO NOTHING RETURNING number, key, version
)`)
  if (hasKnown)
    steps.push(`changed AS (
  UPDATE {schema}.records r SET version = r.version + 1, ${columns.map((name) => `${name} = u.${name}`).join(', ')}
  FROM u WHERE r.key = u.key AND r.version = u.expected AND ${isTime}
  RETURNING r.number, r.version, u.place, u.at, u.worker, u.waiting
)`)
  const made = 'SELECT a.number, a.version, u.place, u.at, u.worker, u.waiting FROM made a JOIN u ON u.key = a.key'
  if (!hasNew) steps.push('applied AS NOT MATERIALIZED (SELECT * FROM changed)')
  else steps.push(`applied AS MATERIALIZED (${made}${hasKnown ? ' UNION ALL SELECT * FROM changed' : ''})`)
  const isQueued = ({ record }: Written): boolean => dueMark(record) !== undefined
  if (written.some(isQueued))
    steps.push(`queued AS (
  INSERT INTO {schema}.due (record, at, worker, waiting) SELECT number, at, worker, waiting FROM applied WHERE at IS NOT NULL
  ${hasKnown ? REQUEUED : ''}
)`)
  if (hasKnown && !written.every(isQueued))
    steps.push('ended AS (DELETE FROM {schema}.due d USING applied a WHERE a.at IS NULL AND d.record = a.number)')
  return steps
}

const REQUEUED =
  'ON CONFLICT (record) DO UPDATE SET at = excluded.at, worker = excluded.worker, waiting = excluded.waiting'

function valuesOf(record: MessageRecord, columns: readonly string[]): readonly string[] {
  const { send, of } = record
  const state = [textValue(encodeRecord(record)), numberValue(lastDay(record))]
  if (columns === STATE) return state
  const sentAtMs = send && Math.floor(send.sentAtMs)
  const sent = [orNull(send && encodeSend(send), textValue), orNull(sentAtMs, numberValue)]
  return [...state, ...sent, orNull(overdueMark(record), numberValue), orNull(of, digestValue)]
}

/** When something of it can be leased, the worker that has it, and how many wait; undefined where none does. */
function queueOf(record: MessageRecord): readonly string[] | undefined {
  const at = dueMark(record)
  if (at === undefined) return undefined
  const { waiting, lease } = record
  const worker = lease === undefined || lease.worker === '' ? undefined : Number(lease.worker)
  return [numberValue(at), orNull(worker, numberValue), String(waiting.length)]
}

/** Most writes change neither what was sent nor its times. */
function writesSend({ before, after, repairs }: Change): boolean {
  return before?.send !== after?.send || (after?.of !== undefined && before === undefined) || repairs === 'send'
}

function partsOf(changes: readonly Change[]): Parts {
  const parts: Parts = { payloads: [], dead: [], revived: [], removed: [] }
  for (const [place, { admitted, payloads, before, after }] of changes.entries()) {
    for (const { id, record, raw } of admitted) {
      const entry = after?.waiting.find((each) => each.id === id)
      const admittedAtMs = Math.floor(entry?.admittedAtMs ?? record.receivedAtMs)
      const event = [numberValue(admittedAtMs), textValue(JSON.stringify(record)), bytesValue(raw)]
      parts.payloads.push([String(place), digestValue(id), ...event])
    }
    for (const change of payloads) {
      const one = [String(place), digestValue(change.id)]
      const letter = after?.dead.find(({ id }) => id === change.id)
      if (change.becomes === 'dead')
        parts.dead.push([...one, textValue(change.error), numberValue(Math.floor(letter?.diedAtMs ?? 0))])
      else if (change.becomes === 'removed') parts.removed.push(one)
      if (change.becomes !== 'dead' && before?.dead.some(({ id }) => id === change.id) === true) parts.revived.push(one)
    }
  }
  return parts
}

function stepsBeside({ payloads, dead, revived, removed }: Parts, changes: readonly Change[]): readonly string[] {
  const one = ['integer', 'bytea']
  const steps: string[] = []
  if (payloads.length > 0)
    steps.push(`stored AS (
  INSERT INTO {schema}.payloads (record, id, admitted_at, event, raw) SELECT a.number, p.id, p.admitted_at, p.event, p.raw
  FROM applied a JOIN (${valuesList(payloads, [...one, 'bigint', 'bytea', 'bytea'])}) AS p (place, id, admitted_at, event, raw)
    ON p.place = a.place
)`)
  if (dead.length > 0)
    steps.push(
      `died (place, id, error, died_at) AS (${valuesList(dead, [...one, 'bytea', 'bigint'])})`,
      `failed AS (
  UPDATE {schema}.payloads p SET error = d.error FROM applied a JOIN died d ON d.place = a.place
  WHERE p.record = a.number AND p.id = d.id
)`,
      `letters AS (
  INSERT INTO {schema}.dead_letters (id, record, died_at)
  SELECT d.id, a.number, d.died_at FROM applied a JOIN died d ON d.place = a.place ON CONFLICT DO NOTHING
)`,
    )
  if (revived.length > 0)
    steps.push(`revived AS (
  DELETE FROM {schema}.dead_letters d USING applied a JOIN (${valuesList(revived, one)}) AS x (place, id) ON x.place = a.place
  WHERE d.id = x.id AND d.record = a.number
)`)
  if (removed.length > 0)
    steps.push(`removed AS (
  DELETE FROM {schema}.payloads p USING applied a JOIN (${valuesList(removed, one)}) AS x (place, id) ON x.place = a.place
  WHERE p.record = a.number AND p.id = x.id
)`)
  if (changes.some(({ repairs }) => repairs === 'state'))
    steps.push('dropped AS (DELETE FROM {schema}.dead_letters d USING applied a WHERE d.record = a.number)')
  return steps
}

/** Removes these records, with all that is beside them. */
function removal(changes: readonly Change[]): string {
  const rows = changes.map(({ key, expected }, place) => [
    String(place),
    digestValue(key),
    orNull(expected, numberValue),
  ])
  const beside = ['payloads', 'due', 'dead_letters']
    .map((table) => `,\n${table}_gone AS (DELETE FROM {schema}.${table} t USING gone WHERE t.record = gone.number)`)
    .join('')
  return `WITH u (place, key, expected) AS (${valuesList(rows, ['integer', 'bytea', 'bigint'])}),
gone AS (
  DELETE FROM {schema}.records r USING u WHERE r.key = u.key AND r.version = u.expected RETURNING r.number, u.place, r.version
)${beside}
SELECT place, version FROM gone`
}
