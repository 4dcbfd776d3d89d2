/**
 * Writes records, each if its stored version is the expected one. All changes of a batch go in one statement, built from the
 * parts that the batch needs. A single record is written without a value list, which halves its planning.
 */
import { monotonicMs } from '../../runtime/clock.ts'
import type { SharedEngine, VersionedChange as Change } from '../engine.ts'
import { dueMark } from '../../messages/record.ts'
import { admittedIn, changedIn, createColumns, isNew, isReplaced, type Written } from '../sql/changes.ts'
import { dueRowOf, type DueRow } from '../sql/due.ts'
import { newNumber, numberValue } from '../sql/values.ts'
import type { Batch } from './connections.ts'
import { bytesOf, rowsOf, rowsQuery, SERVER_NOW, text, type Column } from './encoding.ts'
import type { Engine } from './engine.ts'
import { writtenOut } from './plans.ts'

interface Placed extends Written {
  /** Identifies the change in the statement. */
  readonly place: string
  readonly due: DueRow | undefined
}

export function createWriting({ schema, isTime, noteTime }: Engine, together: Batch) {
  /** Runs these steps and returns the places of the changes that applied. */
  async function apply(steps: readonly string[], isPlanned: boolean): Promise<readonly string[]> {
    const statement = `WITH ${steps.join(',\n')}
SELECT coalesce(string_agg(place::text, ' '), '') AS places, ${SERVER_NOW} AS now FROM applied;`
    const sentMs = monotonicMs()
    const [[answer] = []] = await together(isPlanned ? statement : writtenOut(statement))
    noteTime(answer, sentMs)
    return answer === undefined ? [] : text(answer, 'places').split(' ')
  }

  return async (changes: readonly Change[], asOfMs: number): ReturnType<SharedEngine['write']> => {
    const written = changes.flatMap(writtenOf)
    const removed = [...changes.entries()].filter(([, { after }]) => after === null)
    // Dead letters have no index by record.
    const applied = new Set([
      ...(written.length === 0 ? [] : await apply(writing(written, isTime(asOfMs), schema), !written.some(isReplaced))),
      ...(removed.length === 0 ? [] : await apply(removal(removed, isTime(asOfMs), schema), false)),
    ])
    return changes.map((_, index) => applied.has(String(index)))
  }
}

function writtenOf(change: Change, index: number): readonly Placed[] {
  const { after } = change
  return after === null ? [] : [{ change, record: after, place: String(index), due: dueRowOf(after) }]
}

/** Writes these records, with their payloads, dead letters and due rows. */
function writing(written: readonly Placed[], isTime: string, schema: string): readonly string[] {
  const [hasNew, hasKnown] = [written.some(isNew), !written.every(isNew)]
  const columns = columnsOf(written, recordColumns(written))
  const due = columnsOf(written, { place: ({ place }) => place, ...(written.some(isQueued) && DUE) })
  const rows = rowsOf('u', [
    ...columnsOf(written, {
      key: ({ change }) => change.key,
      ...(hasKnown && { expected: ({ change }) => change.expected && bytesOf(change.expected) }),
      ...(hasNew && { number: (each) => (isNew(each) ? newNumber(each.record) : undefined) }),
    }),
    ...columns,
    ...due,
  ])
  const values = ({ name }: Column): string => rows.value(name)
  const next = due.map((column) => `${values(column)} AS ${column.name}`).join(', ')
  const made = `INSERT INTO ${schema}.records (number, key, ${columns.map(({ name }) => name).join(', ')})
  SELECT ${rows.value('number')}, ${rows.value('key')}, ${columns.map(values).join(', ')}
  ${rows.from} WHERE ${hasKnown ? `${rows.value('expected')} IS NULL AND ` : ''}${isTime} ON CONFLICT DO NOTHING`
  const changed = `UPDATE ${schema}.records r
  SET ${columns.map((column) => `${column.name} = ${values(column)}`).join(', ')}
  ${rows.from} WHERE r.key = ${rows.value('key')} AND r.version = ${rows.value('expected')} AND ${isTime}
  RETURNING r.number, ${next}`
  const beside = [...stepsOfDue(written, schema), ...stepsBeside(written, schema)]
  // A single row is not joined by its number: the join takes a fifth of the statement.
  if (rows.table === undefined)
    return [`applied AS (${hasNew ? `${made} RETURNING number, ${next}` : changed})`, ...beside]
  const applied = [
    ...(hasNew ? [`SELECT made.number, ${next} FROM made JOIN u ON u.number = made.number`] : []),
    ...(hasKnown ? ['SELECT * FROM changed'] : []),
  ]
  return [
    rows.table,
    ...(hasNew ? [`made AS (${made} RETURNING number)`] : []),
    ...(hasKnown ? [`changed AS (${changed})`] : []),
    `applied AS (${applied.join(' UNION ALL ')})`,
    ...beside,
  ]
}

/** The types of columns that hold neither text nor bytes. */
const TYPES: Readonly<Record<string, Column['type']>> = {
  place: 'integer',
  key: 'digest',
  expected: 'bytes',
  number: 'bigint',
  sent_at: 'bigint',
  overdue_at: 'bigint',
  at: 'bigint',
  held_until: 'bigint',
  worker: 'bigint',
  waiting: 'integer',
  first: 'digest',
  id: 'digest',
  admitted_at: 'bigint',
  died_at: 'bigint',
}

type ColumnsOf<T> = Readonly<Record<string, (one: T) => string | number | undefined>>

function columnsOf<T>(all: readonly T[], columns: ColumnsOf<T>): readonly Column[] {
  return Object.entries(columns).map(([name, valueOf]) => {
    const values = all.map((one) => {
      const value = valueOf(one)
      return typeof value === 'number' ? numberValue(value) : value
    })
    return { name, type: TYPES[name] ?? 'bytes', values }
  })
}

const recordColumns = createColumns<string | number | undefined>({
  text: bytesOf,
  number: (number) => number,
  none: undefined,
})

const DUE: ColumnsOf<Placed> = {
  at: ({ due }) => due?.at,
  held_until: ({ due }) => due?.heldUntil,
  worker: ({ due }) => due?.worker,
  waiting: ({ due }) => due?.waiting,
  first: ({ due }) => due?.first,
}

const isQueued = ({ due }: Placed): boolean => due !== undefined

/** A new record has no row yet, and most others have one. A lost row is restored with the next event. */
function stepsOfDue(written: readonly Placed[], schema: string): readonly string[] {
  const hadRow = ({ change: { before } }: Placed): boolean => before !== undefined && dueMark(before) !== undefined
  const queued = written.filter(isQueued)
  const columns = Object.keys(DUE)
  const set = (from: string): string => columns.map((name) => `${name} = ${from}.${name}`).join(', ')
  const steps: string[] = []
  if (queued.length > 0 && queued.every((one) => hadRow(one) && !isReplaced(one) && admittedIn([one]).length === 0))
    steps.push(`moved AS (
  UPDATE ${schema}.due d SET ${set('a')} FROM applied a WHERE d.record = a.number AND a.at IS NOT NULL
)`)
  else if (queued.length > 0)
    steps.push(`queued AS (
  INSERT INTO ${schema}.due (record, ${columns.join(', ')})
  SELECT a.number, ${columns.map((name) => `a.${name}`).join(', ')} FROM applied a WHERE a.at IS NOT NULL
  ${queued.every(isNew) ? '' : `ON CONFLICT (record) DO UPDATE SET ${set('excluded')}`}
)`)
  if (written.some((one) => !isQueued(one) && (hadRow(one) || isReplaced(one))))
    steps.push(`ended AS (
  DELETE FROM ${schema}.due d USING applied a WHERE d.record = a.number${queued.length === 0 ? '' : ' AND a.at IS NULL'}
)`)
  return steps
}

/** Payloads and dead letters. */
function stepsBeside(written: readonly Placed[], schema: string): readonly string[] {
  const steps: string[] = []
  const admitted = admittedIn(written)
  if (admitted.length > 0) {
    const rows = columnsOf(admitted, {
      ...BESIDE,
      admitted_at: ({ admittedAtMs }) => admittedAtMs,
      event: ({ event }) => bytesOf(event),
      raw: ({ raw }) => raw.toString('latin1'),
      ...(admitted.some(({ error }) => error !== undefined) && { error: ({ error }) => error && bytesOf(error) }),
    })
    const [, , ...content] = rows.map(({ name }) => name)
    // An event may come again after its identity was forgotten, and before its payload is removed.
    const set = content.map((name) => `${name} = excluded.${name}`).join(', ')
    steps.push(`stored AS (
  INSERT INTO ${schema}.payloads (record, id, ${content.join(', ')}) SELECT a.number, p.id, ${content.map((name) => `p.${name}`).join(', ')}
  FROM applied a JOIN (${rowsQuery(rows)}) AS p ON p.place = a.place
  ${admitted.every(({ one }) => isNew(one)) ? '' : `ON CONFLICT (record, id) DO UPDATE SET ${set}`}
)`)
  }
  const { dead, failed, revived, removed } = changedIn(written)
  if (dead.length > 0) {
    const rows = columnsOf(dead, { ...BESIDE, died_at: ({ diedAtMs }) => diedAtMs })
    steps.push(`letters AS (
  INSERT INTO ${schema}.dead_letters (id, record, died_at)
  SELECT d.id, a.number, d.died_at FROM applied a JOIN (${rowsQuery(rows)}) AS d ON d.place = a.place ON CONFLICT DO NOTHING
)`)
  }
  if (failed.length > 0) {
    const rows = columnsOf(failed, { ...BESIDE, error: ({ error }) => bytesOf(error) })
    steps.push(`failed AS (
  UPDATE ${schema}.payloads p SET error = d.error FROM applied a JOIN (${rowsQuery(rows)}) AS d ON d.place = a.place
  WHERE p.record = a.number AND p.id = d.id
)`)
  }
  for (const [name, table, gone] of [
    ['revived', 'dead_letters', revived],
    ['removed', 'payloads', removed],
  ] as const)
    if (gone.length > 0)
      steps.push(`${name} AS (
  DELETE FROM ${schema}.${table} t USING applied a JOIN (${rowsQuery(columnsOf(gone, BESIDE))}) AS x ON x.place = a.place
  WHERE t.record = a.number AND t.id = x.id
)`)
  if (written.some(isReplaced))
    steps.push(`dropped AS (DELETE FROM ${schema}.dead_letters d USING applied a WHERE d.record = a.number)`)
  return steps
}

/** The columns that identify a payload or a dead letter of a record. */
const BESIDE: ColumnsOf<{ readonly one: Placed; readonly id: string }> = {
  place: ({ one }) => one.place,
  id: ({ id }) => id,
}

/** Removes these records with their payloads and dead letters. A record with waiting events, and so with a due row, is kept. */
function removal(changes: readonly (readonly [number, Change])[], isTime: string, schema: string): readonly string[] {
  const columns = columnsOf(changes, {
    place: ([place]) => place,
    key: ([, { key }]) => key,
    expected: ([, { expected }]) => expected && bytesOf(expected),
  })
  return [
    `applied AS (
  DELETE FROM ${schema}.records r USING (${rowsQuery(columns)}) AS u
  WHERE r.key = u.key AND r.version = u.expected AND ${isTime}
  RETURNING r.number, u.place
)`,
    ...['payloads', 'dead_letters'].map(
      (table) => `${table}_gone AS (DELETE FROM ${schema}.${table} t USING applied a WHERE t.record = a.number)`,
    ),
  ]
}
