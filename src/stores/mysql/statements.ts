/** The statements that write records and what is stored beside them. Each writes one table, for all changes of a batch. */
import { admittedIn, changedIn, createColumns, isNew, isRepaired, type Written } from '../sql/changes.ts'
import { dueRowOf } from '../sql/due.ts'
import type { RepairingChange as Change } from '../sql/records.ts'
import { numberValue } from '../sql/values.ts'
import { TooLong } from './connections.ts'
import { bytesValue, digestValue, textValue } from './encoding.ts'
import type { Tables } from './migrations.ts'

/** A longer statement saves nothing, and the server keeps a copy of each until it ends. */
const LONGEST_STATEMENT = 4 * 2 ** 20

/** A change to a record whose row is locked, or new. */
export interface Applied {
  readonly change: Change
  readonly number: string
  readonly version: number
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

export function stepsOf(applied: readonly Applied[], tables: Tables): readonly Step[] {
  const put: Put[] = []
  const removed: string[] = []
  for (const one of applied) {
    const { after } = one.change
    if (after === undefined) removed.push(one.number)
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
  digest: digestValue,
  none: 'NULL',
  ofColumn: 'overflow_of',
})

/**
 * Puts these records: all new, or all with a locked row. Several known rows take one statement only as insertions that find a
 * duplicate.
 */
function recordStep(put: readonly Put[], table: string): Step {
  const columns = columnsOf(put)
  const names = ['version', ...Object.keys(columns), ...DUE]
  const rows = put.map((one) => {
    const { number, change, version, record } = one
    const values = Object.values(columns).map((valueOf) => valueOf(one))
    return `(${[number, digestValue(change.key), String(version), ...values, ...dueValues(record)].join(', ')})`
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

/** A payload that was left by a record that could not be read is replaced. */
function admittedStep(put: readonly Put[], table: string): Step {
  const content = ['admitted_at', 'event', 'raw', 'error']
  const rows = admittedIn(put).map(({ one, id, admittedAtMs, event, raw }) => {
    const values = [numberValue(admittedAtMs), textValue(event), bytesValue(raw), 'NULL']
    return `(${[one.number, digestValue(id), ...values].join(', ')})`
  })
  return inserted(table, ['record', 'id', ...content], rows, replacing(content))
}

/** Dead letters, and payloads that are removed. */
function changedSteps(put: readonly Put[], tables: Tables): readonly Step[] {
  const { dead, revived, removed } = changedIn(put)
  const repaired = put.filter(isRepaired).map(({ number }) => number)
  const revivedIds = revived.map(({ id }) => digestValue(id))
  const removedIds = removed.map(({ one, id }) => `(${one.number}, ${digestValue(id)})`)
  const errors = dead.map(
    ({ one, id, error }) => `SELECT ${one.number} AS record, ${digestValue(id)} AS id, ${textValue(error)} AS error`,
  )
  return [
    listed(`DELETE FROM ${tables.dead_letters} WHERE record IN (`, repaired),
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
export function* statementsOf({ head, rows, between, tail }: Step, longest: number): Generator<string> {
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
