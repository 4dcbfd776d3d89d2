/** The statements that write records and what is stored beside them. Each writes one table, for all changes of a batch. */
import { encodeReports, encodeSend, encodeState } from '../../inbox/runtime/codec.ts'
import { overdueMark, pendingMark } from '../../messages/marks.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { dueRowOf } from '../sql/due-row.ts'
import type { RepairingChange as Change } from '../sql/records.ts'
import { Withdrawn } from './connections.ts'
import { bytesValue, digestValue, numberValue, orNull, textValue } from './encoding.ts'
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
interface Put extends Applied {
  readonly record: MessageRecord
}

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
  return [
    recordStep(put.filter(isNew), tables.records),
    recordStep(
      put.filter((one) => !isNew(one)),
      tables.records,
    ),
    // A record with waiting events is never removed.
    ...[tables.payloads, tables.dead_letters].map((table) => listed(`DELETE FROM ${table} WHERE record IN (`, removed)),
    listed(`DELETE FROM ${tables.records} WHERE number IN (`, removed),
    admittedStep(put, tables.payloads),
    ...changedSteps(put, tables),
  ].filter(({ rows }) => rows.length > 0)
}

const isNew = ({ change }: Applied): boolean => change.expected === undefined

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

type ColumnsOf = Readonly<Record<string, (one: Put) => string>>

const STATE: ColumnsOf = {
  version: ({ version }) => String(version),
  state: ({ record }) => textValue(encodeState(record)),
}

const DUE = ['due_at', 'held_until', 'worker', 'waiting']

const REPORTS: ColumnsOf = { reports: ({ record }) => textValue(encodeReports(record)) }

const SEND: ColumnsOf = {
  send: ({ record: { send } }) => orNull(send, (known) => textValue(encodeSend(known))),
  sent_at: ({ record: { send } }) => orNull(send, ({ sentAtMs }) => numberValue(Math.floor(sentAtMs))),
  overdue_at: ({ record }) => orNull(overdueMark(record), numberValue),
  pending_since: ({ record }) => orNull(pendingMark(record), numberValue),
  overflow_of: ({ record }) => orNull(record.of, digestValue),
}

/**
 * Puts these records: all new, or all with a locked row. Several known rows take one statement only as insertions that find a
 * duplicate. Most writes change neither the reports nor the send.
 */
function recordStep(put: readonly Put[], table: string): Step {
  const columns = {
    ...STATE,
    ...(put.some(changesReports) && REPORTS),
    ...(put.some(changesSend) && SEND),
  }
  const names = [...Object.keys(columns), ...DUE]
  const rows = put.map((one) => {
    const values = Object.values(columns).map((valueOf) => valueOf(one))
    return `(${[one.number, digestValue(one.change.key), ...values, ...dueValues(one.record)].join(', ')})`
  })
  return inserted(table, ['number', 'digest', ...names], rows, put.every(isNew) ? '' : replacing(names))
}

function dueValues(record: MessageRecord): readonly string[] {
  const due = dueRowOf(record)
  if (due === undefined) return ['NULL', '0', 'NULL', '0']
  const { at, heldUntil, worker, waiting } = due
  if (worker !== undefined && !/^\d+$/.test(worker)) throw new TypeError('A worker is not a number.')
  return [numberValue(at), numberValue(heldUntil), worker ?? 'NULL', String(waiting)]
}

function changesReports({ change: { before, repairs }, record }: Put): boolean {
  return before === undefined || before.latest !== record.latest || repairs === 'state'
}

function changesSend({ change: { before, repairs }, record }: Put): boolean {
  return before?.send !== record.send || (record.of !== undefined && before === undefined) || repairs === 'send'
}

/** A payload that was left by a record that could not be read is replaced. */
function admittedStep(put: readonly Put[], table: string): Step {
  const content = ['admitted_at', 'event', 'raw', 'error']
  const rows = put.flatMap(({ change, record: { waiting }, number }) =>
    change.admitted.map(({ id, record, raw }) => {
      const admittedAtMs = waiting.find((entry) => entry.id === id)?.admittedAtMs ?? record.receivedAtMs
      const values = [numberValue(Math.floor(admittedAtMs)), textValue(JSON.stringify(record)), bytesValue(raw), 'NULL']
      return `(${[number, digestValue(id), ...values].join(', ')})`
    }),
  )
  return inserted(table, ['record', 'id', ...content], rows, replacing(content))
}

/** Dead letters, and payloads that are removed. */
function changedSteps(put: readonly Put[], tables: Tables): readonly Step[] {
  const changed = put.flatMap(({ change: { before, payloads }, record, number }) =>
    payloads.map((payload) => {
      const isIt = ({ id }: { readonly id: string }): boolean => id === payload.id
      const wasDead = before?.dead.some(isIt) === true
      const diedAtMs = record.dead.find(isIt)?.diedAtMs ?? 0
      return { number, id: digestValue(payload.id), payload, wasDead, diedAtMs }
    }),
  )
  const repaired = put.filter(({ change }) => change.repairs === 'state').map(({ number }) => number)
  const revived = changed.filter(({ payload, wasDead }) => payload.becomes !== 'dead' && wasDead)
  const removed = changed.filter(({ payload }) => payload.becomes === 'removed')
  const dead = changed.filter(({ payload }) => payload.becomes === 'dead')
  const errors = dead.map(({ number, id, payload }) => {
    const error = textValue(payload.becomes === 'dead' ? payload.error : '')
    return `SELECT ${number} AS record, ${id} AS id, ${error} AS error`
  })
  return [
    listed(`DELETE FROM ${tables.dead_letters} WHERE record IN (`, repaired),
    listed(
      `DELETE FROM ${tables.dead_letters} WHERE id IN (`,
      revived.map(({ id }) => id),
    ),
    listed(
      `DELETE FROM ${tables.payloads} WHERE (record, id) IN (`,
      removed.map(({ number, id }) => `(${number}, ${id})`),
    ),
    {
      head: `UPDATE ${tables.payloads} p JOIN (`,
      rows: errors,
      between: ' UNION ALL ',
      tail: ') d ON p.record = d.record AND p.id = d.id SET p.error = d.error',
    },
    inserted(
      tables.dead_letters,
      ['id', 'record', 'died_at'],
      dead.map(({ number, id, diedAtMs }) => `(${id}, ${number}, ${numberValue(Math.floor(diedAtMs))})`),
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
    if (base + row.length > longest) throw new Withdrawn('Too long.', { cause: tooLong(base + row.length, longest) })
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

function tooLong(needed: number, longest: number): Error {
  const [bytes, most] = [needed + 1, longest + 1].map((each) => each.toLocaleString('en'))
  return new Error(
    `The event needs a statement of ${bytes} bytes; the server accepts ${most}. Raise its max_allowed_packet, or lower \`maxBodyBytes\`.`,
  )
}
