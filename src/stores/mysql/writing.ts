/**
 * Writes records, each if its stored version is the expected one: locks the rows of a batch in the order of their digests, keeps
 * the changes that apply, and writes each table with one statement. A batch needs five round trips at most times, whatever its
 * size.
 */
import { monotonicMs } from '../../runtime/clock.ts'
import type { SharedEngine, VersionedChange } from '../engine.ts'
import { admittedIn, changedIn, isNew, isReplaced, recordColumns, type Written } from '../sql/changes.ts'
import type { Statement } from '../sql/dialect.ts'
import { isApart } from '../server-time.ts'
import { digestList, isNull, newNumber } from '../sql/values.ts'
import { PACKET_BYTES, TooLong, type Connections, type Transaction } from './connections.ts'
import type { Engine } from './engine.ts'
import { Conflict } from './failures.ts'

export function createWriting(engine: Engine, together: Connections['together']): SharedEngine['write'] {
  return async (changes, asOfMs) => {
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
  { writes, rows: reader, noteTime, clock }: Engine,
  { ask, longest }: Transaction,
  changes: readonly VersionedChange[],
  asOfMs: number,
): Promise<readonly boolean[]> {
  const sentMs = monotonicMs()
  const rows = await ask(writes.lock, [digestList(changes.map(({ key }) => key))])
  noteTime(rows[0], sentMs)
  if (isApart(clock.nowMs(), asOfMs)) return changes.map(() => false)
  const stored = new Map(rows.filter((row) => !isNull(row, 'number')).map((row) => [reader.keyIn(row), row]))
  const applied = changes.map((change): Applied | undefined => {
    const { key, expected, after } = change
    const row = stored.get(key)
    if ((row && reader.text(row, 'version')) !== expected) return undefined
    if (row !== undefined) return { change, number: reader.digits(row, 'number') }
    return after === null ? undefined : { change, number: newNumber(after) }
  })
  const all = applied.filter((one) => one !== undefined)
  for (const { statement, rows } of stepsOf(all, writes))
    for (const list of listsOf(rows, longest)) await ask(statement, [list])
  return applied.map((one) => one !== undefined)
}

/** A change to a record whose row is locked, or new. */
interface Applied {
  readonly change: VersionedChange
  readonly number: string
}

/** A record to put. */
interface Put extends Applied, Written {}

interface Step {
  readonly statement: Statement
  readonly rows: readonly object[]
}

function stepsOf(applied: readonly Applied[], writes: Engine['writes']): readonly Step[] {
  const put = applied.flatMap((one): readonly Put[] =>
    one.change.after === null ? [] : [{ ...one, record: one.change.after }],
  )
  const removed = applied.filter(({ change }) => change.after === null).map(identity)
  const { dead, failed, revived, removed: removedPayloads } = changedIn(put)
  return [
    { statement: writes.insert, rows: put.filter(isNew).map(recordRow) },
    { statement: writes.update, rows: put.filter((one) => !isNew(one)).map(recordRow) },
    // A record with waiting events is never removed.
    { statement: writes.removePayloadsOf, rows: removed },
    { statement: writes.removeLettersOf, rows: [...removed, ...put.filter(isReplaced).map(identity)] },
    { statement: writes.remove, rows: removed },
    { statement: writes.store, rows: admittedIn(put).map((each) => ({ ...eventRow(each), ...each.columns })) },
    { statement: writes.removeLetters, rows: revived.map(eventRow) },
    { statement: writes.removePayloads, rows: removedPayloads.map(eventRow) },
    { statement: writes.setErrors, rows: failed.map((each) => ({ ...eventRow(each), error: each.error })) },
    { statement: writes.addLetters, rows: dead.map((each) => ({ ...eventRow(each), died_at: each.diedAt })) },
  ].filter(({ rows }) => rows.length > 0)
}

function identity({ number }: Applied) {
  return { number }
}

function recordRow(one: Put) {
  return { number: one.number, ...recordColumns(one) }
}

function eventRow({ one, id }: { readonly one: Put; readonly id: string }) {
  return { number: one.number, id }
}

/** A longer list saves nothing, and the server keeps a copy of each until its statement ends. */
const LONGEST_LIST = 4 * 2 ** 20

/** These rows as JSON lists, none longer than the server accepts. */
function* listsOf(rows: readonly object[], longest: number): Generator<string> {
  const usual = Math.min(LONGEST_LIST, longest)
  let piece: string[] = []
  let length = BRACKETS
  for (const row of rows) {
    const written = JSON.stringify(row)
    // The error tells the inbox which event to leave out.
    if (BRACKETS + written.length > longest) throw tooLong(BRACKETS + written.length, longest)
    if (piece.length > 0 && length + written.length > usual) {
      yield `[${piece.join()}]`
      piece = []
      length = BRACKETS
    }
    piece.push(written)
    length += written.length + 1
  }
  if (piece.length > 0) yield `[${piece.join()}]`
}

const BRACKETS = 2

function tooLong(needed: number, longest: number): TooLong {
  const [bytes, most] = [needed, longest].map((each) => (each + PACKET_BYTES).toLocaleString('en'))
  return new TooLong(
    `The event needs a packet of ${bytes} bytes; the server accepts ${most}. Raise its max_allowed_packet, or lower \`maxBodyBytes\`.`,
  )
}
