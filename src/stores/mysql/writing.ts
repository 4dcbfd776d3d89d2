/**
 * Writes records, each if its stored version is the expected one: locks the rows of a batch in the order of their digests, keeps
 * the changes that apply, and writes each table with one statement. A batch needs five round trips at most times, whatever its
 * size.
 */
import { monotonicMs } from '../../runtime/clock.ts'
import type { PendingLook, SharedStore } from '../../inbox/record-store.ts'
import { firstVersion, pendingColumn } from '../sql/changes.ts'
import { newNumber } from '../sql/numbers.ts'
import type { RepairingChange as Change } from '../sql/records.ts'
import { isNull } from '../sql/rows.ts'
import { numberValue } from '../sql/values.ts'
import type { Connections, Transaction } from './connections.ts'
import { digits, integer, integerOrNone, isOneOf, keyIn } from './encoding.ts'
import { SERVER_NOW, type Engine } from './engine.ts'
import { Conflict } from './failures.ts'
import { statementsOf, stepsOf, type Applied } from './statements.ts'

export function createWriting(engine: Engine, together: Connections['together']) {
  return async (
    changes: readonly Change[],
    asOfMs: number | undefined,
    pending?: PendingLook,
  ): ReturnType<SharedStore['write']> => {
    if (changes.length === 0) return []
    try {
      return await together((transaction) => writeWithin(engine, transaction, { changes, asOfMs, pending }))
    } catch (error) {
      // The caller reads again and decides again.
      if (error instanceof Conflict) return changes.map(() => undefined)
      throw error
    }
  }
}

async function writeWithin(
  { tables, noteTime }: Engine,
  { run, longest }: Transaction,
  asked: {
    readonly changes: readonly Change[]
    readonly asOfMs: number | undefined
    readonly pending: PendingLook | undefined
  },
): Promise<readonly (number | undefined)[]> {
  const { changes, asOfMs, pending } = asked
  const sentMs = monotonicMs()
  const { rows } = await run(lockedRows(changes, pending, tables.records))
  const [first] = rows
  noteTime(first, asOfMs, sentMs)
  if (pending !== undefined && first !== undefined) pending.onAnswer(integerOrNone(first, 'pending'))
  const stored = new Map(rows.filter((row) => !isNull(row, 'number')).map((row) => [keyIn(row), row]))
  const applied = changes.map((change): Applied | undefined => {
    const { key, expected, after } = change
    const row = stored.get(key)
    if ((row && integer(row, 'version')) !== expected) return undefined
    if (row !== undefined) return { change, number: digits(row, 'number'), version: integer(row, 'version') + 1 }
    return after === undefined ? undefined : { change, number: newNumber(after), version: firstVersion() }
  })
  const all = applied.filter((one) => one !== undefined)
  for (const step of stepsOf(all, tables)) for (const statement of statementsOf(step, longest)) await run(statement)
  return applied.map((one) => one?.version)
}

/**
 * The rows of these records, locked until the end of the transaction, beside the server's time. Of records that do not exist
 * nothing is locked: if another process inserts the same one meanwhile, the insertion is a `Conflict`.
 */
function lockedRows(changes: readonly Change[], pending: PendingLook | undefined, records: string): string {
  const after = pending && numberValue(Math.floor(pending.afterMs))
  const keys = changes.map(({ key }) => key)
  return `SELECT ${SERVER_NOW} AS now${pendingColumn(after, records)}, r.number, r.digest, r.version
FROM (SELECT 1) AS one LEFT JOIN ${records} r FORCE INDEX (by_digest) ON ${isOneOf('r.digest', keys)} FOR UPDATE`
}
