/**
 * Writes records, each if its stored version is the expected one: locks the rows of a batch in the order of their digests, keeps
 * the changes that apply, and writes each table with one statement. A batch needs five round trips at most times, whatever its
 * size.
 */
import { monotonicMs } from '../../runtime/clock.ts'
import type { SharedEngine, VersionedChange as Change } from '../engine.ts'
import { admittedIn, changedIn, createColumns, isNew, isReplaced, type Written } from '../sql/changes.ts'
import { isApart } from '../server-time.ts'
import { isNull, newNumber, numberValue } from '../sql/values.ts'
import { TooLong, type Connections, type Transaction } from './connections.ts'
import { bytesValue, digestValue, digits, isOneOf, keyIn, rowReader, textValue } from './encoding.ts'
import { SERVER_NOW, type Engine } from './engine.ts'
import { Conflict } from './failures.ts'
import { dueRowOf } from '../sql/due.ts'
import type { Tables } from './migrations.ts'

export function createWriting(engine: Engine, together: Connections['together']) {
  return async (changes: readonly Change[], asOfMs: number): ReturnType<SharedEngine['write']> => {
    if (changes.length === 0) return []
    try {
      return await together((transaction) => writeWithin(engine, transaction, changes, asOfMs))
    } catch (error) {
      // The caller reads again and decides again.
      if (error instanceof Conflict) return changes.map(() => false)
      throw error
    }
  }
}

async function writeWithin(
  { tables, noteTime, clock }: Engine,
  { run, longest }: Transaction,
  changes: readonly Change[],
  asOfMs: number,
): Promise<readonly boolean[]> {
  const sentMs = monotonicMs()
  const { rows } = await run(lockedRows(changes, tables.records))
  noteTime(rows[0], sentMs)
  if (isApart(clock.nowMs(), asOfMs)) return changes.map(() => false)
  const stored = new Map(rows.filter((row) => !isNull(row, 'number')).map((row) => [keyIn(row), row]))
  const applied = changes.map((change): Applied | undefined => {
    const { key, expected, after } = change
    const row = stored.get(key)
    if ((row && rowReader.text(row, 'version')) !== expected) return undefined
    if (row !== undefined) return { change, number: digits(row, 'number') }
    return after === null ? undefined : { change, number: newNumber(after) }
  })
  const all = applied.filter((one) => one !== undefined)
  for (const step of stepsOf(all, tables)) for (const statement of statementsOf(step, longest)) await run(statement)
  return applied.map((one) => one !== undefined)
}

/**
 * The rows of these records, locked until the end of the transaction, beside the server's time. Of records that do not exist
 * nothing is locked: if another process inserts the same one meanwhile, the insertion is a `Conflict`.
 */
function lockedRows(changes: readonly Change[], records: string): string {
  const keys = changes.map(({ key }) => key)
  return `SELECT ${SERVER_NOW} AS now, r.number, r.digest, r.version
FROM (SELECT 1) AS one LEFT JOIN ${records} r FORCE INDEX (by_digest) ON ${isOneOf('r.digest', keys)} FOR UPDATE`
}

/** A longer statement saves nothing, and the server keeps a copy of each until it ends. */
const LONGEST_STATEMENT = 4 * 2 ** 20

/** A change to a record whose row is locked, or new. */
interface Applied {
  readonly change: Change
  readonly number: string
}

/** A record to put. */
interface Put extends Applied, Written {}

/** A statement. Its rows may be spread over several. */
interface Step {
  readonly head: string
  readonly rows: readonly string[]
  readonly between: string
  readonly tail: string
}

function stepsOf(applied: readonly Applied[], tables: Tables): readonly Step[] {
  const put: Put[] = []
  const removed: string[] = []
  for (const one of applied) {
    const { after } = one.change
    if (after === null) removed.push(one.number)
    else put.push({ ...one, record: after })
  }
  const known = put.filter((one) => !isNew(one))
  return [
    recordStep(put.filter(isNew), tables.records),
    recordStep(known, tables.records),
    // A record with waiting events is never removed.
    ...[tables.payloads, tables.dead_letters].map((table) => listed(`DELETE FROM ${table} WHERE record IN (`, removed)),
    listed(`DELETE FROM ${tables.records} WHERE number IN (`, removed),
    admittedStep(put, tables.payloads),
    ...changedSteps(put, tables),
  ].filter(({ rows }) => rows.length > 0)
}

function listed(head: string, rows: readonly string[]): Step {
  return { head, rows, between: ', ', tail: ')' }
}

function inserted(table: string, columns: readonly string[], rows: readonly string[], updates: string): Step {
  return {
    head: `INSERT INTO ${table} (${columns.join(', ')}) VALUES `,
    rows,
    between: ',\n',
    tail: updates === '' ? '' : ` ON DUPLICATE KEY UPDATE ${updates}`,
  }
}

/** Both MariaDB and MySQL 8 understand VALUES(), although MySQL prefers an alias that MariaDB does not know. */
function replacing(columns: readonly string[]): string {
  return columns.map((name) => `${name} = VALUES(${name})`).join(', ')
}

const DUE = ['due_at', 'held_until', 'worker', 'waiting']

const columnsOf = createColumns({
  text: textValue,
  number: numberValue,
  none: 'NULL',
})

/**
 * Puts these records: all new, or all with a locked row. Several known rows take one statement only as insertions that find a
 * duplicate.
 */
function recordStep(put: readonly Put[], table: string): Step {
  const columns = columnsOf(put)
  const names = [...Object.keys(columns), ...DUE]
  const rows = put.map((one) => {
    const { number, change, record } = one
    const values = Object.values(columns).map((valueOf) => valueOf(one))
    return `(${[number, digestValue(change.key), ...values, ...dueValues(record)].join(', ')})`
  })
  return inserted(table, ['number', 'digest', ...names], rows, put.every(isNew) ? '' : replacing(names))
}

function dueValues(record: Put['record']): readonly string[] {
  const due = dueRowOf(record)
  if (due === undefined) return ['NULL', '0', 'NULL', '0']
  const { at, heldUntil, worker, waiting } = due
  if (worker !== undefined && !/^\d+$/.test(worker)) throw new TypeError('A worker is not a number.')
  return [numberValue(at), numberValue(heldUntil), worker ?? 'NULL', String(waiting)]
}

function admittedStep(put: readonly Put[], table: string): Step {
  const content = ['admitted_at', 'event', 'raw', 'error']
  const rows = admittedIn(put).map(({ one, id, admittedAtMs, event, raw, error }) => {
    const last = error === undefined ? 'NULL' : textValue(error)
    const values = [numberValue(admittedAtMs), textValue(event), bytesValue(raw), last]
    return `(${[one.number, digestValue(id), ...values].join(', ')})`
  })
  return inserted(table, ['record', 'id', ...content], rows, replacing(content))
}

/** Dead letters, and payloads that are removed. */
function changedSteps(put: readonly Put[], tables: Tables): readonly Step[] {
  const { dead, failed, revived, removed } = changedIn(put)
  const replaced = put.filter(isReplaced).map(({ number }) => number)
  const revivedIds = revived.map(({ id }) => digestValue(id))
  const removedIds = removed.map(({ one, id }) => `(${one.number}, ${digestValue(id)})`)
  const errors = failed.map(
    ({ one, id, error }) => `SELECT ${one.number} AS record, ${digestValue(id)} AS id, ${textValue(error)} AS error`,
  )
  return [
    listed(`DELETE FROM ${tables.dead_letters} WHERE record IN (`, replaced),
    listed(`DELETE FROM ${tables.dead_letters} WHERE id IN (`, revivedIds),
    listed(`DELETE FROM ${tables.payloads} WHERE (record, id) IN (`, removedIds),
    {
      head: `UPDATE ${tables.payloads} p JOIN (`,
      rows: errors,
      between: ' UNION ALL ',
      tail: ') d ON p.record = d.record AND p.id = d.id SET p.error = d.error',
    },
    inserted(
      tables.dead_letters,
      ['id', 'record', 'died_at'],
      dead.map(({ one, id, diedAtMs }) => `(${digestValue(id)}, ${one.number}, ${numberValue(diedAtMs)})`),
      'record = VALUES(record)',
    ),
  ]
}

/** The statements of a step, none longer than the server accepts. */
function* statementsOf({ head, rows, between, tail }: Step, longest: number): Generator<string> {
  const usual = Math.min(LONGEST_STATEMENT, longest)
  const base = head.length + tail.length
  let piece: string[] = []
  let length = base
  for (const row of rows) {
    // The error tells the inbox which event to leave out.
    if (base + row.length > longest) throw tooLong(base + row.length, longest)
    if (piece.length > 0 && length + row.length > usual) {
      yield head + piece.join(between) + tail
      piece = []
      length = base
    }
    piece.push(row)
    length += row.length + between.length
  }
  if (piece.length > 0) yield head + piece.join(between) + tail
}

function tooLong(needed: number, longest: number): TooLong {
  const [bytes, most] = [needed + 1, longest + 1].map((each) => each.toLocaleString('en'))
  return new TooLong(
    `The event needs a statement of ${bytes} bytes; the server accepts ${most}. Raise its max_allowed_packet, or lower \`maxBodyBytes\`.`,
  )
}
