/** Reads records from the tables, writes them if nothing has changed them, and finds them by their indexes. */
import type { MessagingWebhooksError } from '../../public/errors.ts'
import type { Payload, SharedStore } from '../../inbox/record-store.ts'
import { createTableRecords, type TableRecords } from '../sql/records.ts'
import type { Connections, Run } from './connections.ts'
import { digestValue, isOneOf, keyIn, rowReader } from './encoding.ts'
import { rowsBy, type Engine } from './engine.ts'
import { createWriting } from './writing.ts'

export type Records = TableRecords & Pick<SharedStore, 'write' | 'payloads'>

/** `run` and `together`: the connection to use. */
export function createRecords(
  engine: Engine,
  report: (error: MessagingWebhooksError) => void,
  run: Run = engine.connections.run,
  together: Connections['together'] = engine.connections.together,
): Records {
  const { dialect, tables } = engine
  const write = createWriting(engine, together)
  return {
    ...createTableRecords(dialect, rowsBy(run), write, report),
    write,
    async payloads(places) {
      if (places.length === 0) return []
      const keys = places.map(({ key }) => key)
      const wanted = places.map(({ key, id }) => `(r.digest = ${digestValue(key)} AND p.id = ${digestValue(id)})`)
      const { rows } = await run(`
SELECT r.digest, ${dialect.payloadColumns} FROM ${tables.records} r JOIN ${tables.payloads} p ON p.record = r.number
WHERE ${isOneOf('r.digest', keys)} AND (${wanted.join(' OR ')})`)
      const found = new Map(rows.map((row) => [`${keyIn(row)} ${rowReader.digest(row, 'id')}`, row]))
      return places.map(({ key, id }): Payload | undefined => {
        const row = found.get(`${key} ${id}`)
        return row && rowReader.payloadIn(row)
      })
    },
  }
}
