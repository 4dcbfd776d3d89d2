/** Reads records from the tables, writes them if nothing has changed them, and finds them by their indexes. */
import { monotonicMs } from '../../runtime/clock.ts'
import type { SharedEngine } from '../engine.ts'
import type { Ask, Value } from '../sql/dialect.ts'
import { readDue } from '../sql/due.ts'
import { createTableRecords } from '../sql/records.ts'
import { digestList, isNull, type Row } from '../sql/values.ts'
import type { Connections } from './connections.ts'
import type { Engine } from './engine.ts'
import { Conflict } from './failures.ts'
import { createWriting } from './writing.ts'

/** `ask` and `together`: the connection to use. */
export function createRecords(
  engine: Engine,
  ask: Ask = engine.ask,
  together: Connections['together'] = engine.connections.together,
) {
  const write = createWriting(engine, together)
  return { ...createTableRecords({ ...engine, ask }), write, dueEvents: createDue(engine, write) }
}

/** Finds due records and reserves them for this process. */
function createDue(engine: Engine, write: SharedEngine['write']): SharedEngine['due'] {
  const { connections, writes, rows: reader, ask, noteTime, clock } = engine
  const numbersIn = (numbers: readonly string[]): string => JSON.stringify(numbers.map((number) => ({ number })))

  /** Locks what is due and reserves it. */
  async function reserve(values: readonly Value[]): Promise<readonly Row[]> {
    try {
      return await connections.together(async ({ ask: inside }) => {
        const rows = await inside(writes.due, values)
        const numbers = rows.map((row) => reader.digits(row, 'number'))
        if (rows.length > 0) await inside(writes.reserve, [numbersIn(numbers)])
        return rows
      })
    } catch (error) {
      if (error instanceof Conflict) return []
      throw error
    }
  }

  /** The next time at which something becomes due, or a reservation or lease ends. */
  async function nextDueMs(now: number, exclude: Iterable<string>): Promise<number | undefined> {
    const [row] = await ask(writes.nextDue, [now, digestList(exclude)])
    if (row === undefined) return undefined
    const times = [reader.integerOrNone(row, 'next'), reader.integerOrNone(row, 'held')].filter(
      (time) => time !== undefined,
    )
    return times.length === 0 ? undefined : Math.min(...times)
  }

  return async ({ limit, nowMs, exclude }) => {
    const now = Math.floor(nowMs)
    const asked = [now, digestList(exclude)]
    const sentMs = monotonicMs()
    const [first] = await ask(writes.peek, asked)
    noteTime(first, sentMs)
    const rows = first === undefined || isNull(first, 'first') ? [] : await reserve([...asked, limit])
    const { found, contradicted, ended } = readDue(rows, now, reader)
    // The columns of a row contradict the record, which decides.
    if (contradicted.length > 0) await write(contradicted, clock.nowMs())
    if (ended.length > 0) await ask(writes.endDue, [numbersIn(ended)])
    // Look again for records that were locked or written meanwhile.
    const isAgain = rows.length >= limit || contradicted.length + ended.length > 0
    return {
      keys: [...found.keys()],
      nextMs: isAgain ? nowMs : await nextDueMs(now, [...exclude, ...rows.map(reader.keyIn)]),
      found,
    }
  }
}
