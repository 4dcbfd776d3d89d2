/** Reads records from the tables, writes them if no one has changed them, and finds them by their indexes. */
import type { Payload } from '../../messages/views.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import type { SharedEngine } from '../engine.ts'
import { readDue } from '../sql/due.ts'
import { createTableRecords } from '../sql/records.ts'
import { digestList, isNull } from '../sql/values.ts'
import type { Engine } from './engine.ts'
import { createWriting } from './writing.ts'

/** `at`: the connection to use. */
export function createRecords(engine: Engine, at: Pick<Engine, 'ask' | 'change'> = engine) {
  const write = createWriting(engine, at.change)
  return { ...createTableRecords({ ...engine, ask: at.ask }), write, dueEvents: createDue(engine, write) }
}

/** Finds due records, reserves them for this process, and reads them with the payload that will probably run. */
function createDue(engine: Engine, write: SharedEngine['write']): SharedEngine['due'] {
  const { writes, rows: reader, change, noteTime, clock } = engine
  return async ({ limit, nowMs, exclude }) => {
    const now = Math.floor(nowMs)
    const sentMs = monotonicMs()
    const [all = []] = await change([{ statement: writes.due, values: [now, limit, digestList(exclude)] }])
    const [times] = all
    noteTime(times, sentMs)
    const rows = times === undefined || isNull(times, 'due_record') ? [] : all
    const { found, contradicted, ended } = readDue(rows, now, reader)
    const payloads = new Map<string, Payload>()
    for (const row of rows) {
      const key = isNull(row, 'number') || isNull(row, 'id') ? undefined : reader.keyIn(row)
      if (key !== undefined && found.has(key)) payloads.set(key, reader.payloadIn(row))
    }
    const applied = contradicted.length === 0 ? [] : await write(contradicted, clock.nowMs())
    // Another process has written both the row and the record after the statement began. The row that is reserved is right.
    const renewed = contradicted.filter((_, index) => applied[index] !== true)
    if (ended.length > 0) {
      const list = JSON.stringify(ended.map((number) => ({ number })))
      await change([{ statement: writes.endDue, values: [list, now] }])
    }
    // Look again for records that were locked or written meanwhile.
    const isAgain = rows.length >= limit || contradicted.length + ended.length > 0
    const nextMs = isAgain ? nowMs : times && reader.integerOrNone(times, 'next')
    return { keys: [...found.keys(), ...renewed.map(({ key }) => key)], nextMs, found, payloads }
  }
}
