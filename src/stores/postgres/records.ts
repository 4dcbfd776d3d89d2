/** Reads records from the tables, writes them if no one has changed them, and finds them by their indexes. */
import type { MessagingWebhooksError } from '../../public/errors.ts'
import type { Payload, SharedStore } from '../../inbox/record-store.ts'
import { createTableRecords, type TableRecords } from '../sql/records.ts'
import type { Batch } from './connections.ts'
import { integer, rowReader, rowsQuery } from './encoding.ts'
import { rowsBy, type Engine } from './engine.ts'
import { createWriting } from './writing.ts'

export type Records = TableRecords & Pick<SharedStore, 'write' | 'payloads'>

/** `together`: the connection to use. */
export function createRecords(
  engine: Engine,
  report: (error: MessagingWebhooksError) => void,
  together: Batch = engine.together,
): Records {
  const { schema, dialect } = engine
  const write = createWriting(engine, together)
  return {
    ...createTableRecords(dialect, rowsBy(together), write, report),
    write,
    async payloads(places) {
      if (places.length === 0) return []
      const wanted = rowsQuery([
        { name: 'place', type: 'integer', values: places.map((_, place) => String(place)) },
        { name: 'key', type: 'digest', values: places.map(({ key }) => key) },
        { name: 'id', type: 'digest', values: places.map(({ id }) => id) },
      ])
      const [rows = []] = await together(`
SELECT u.place, ${dialect.payloadColumns} FROM (${wanted}) u JOIN ${schema}.records r ON r.key = u.key
  JOIN ${schema}.payloads p ON p.record = r.number AND p.id = u.id;`)
      const payloads: (Payload | undefined)[] = places.map(() => undefined)
      for (const row of rows) payloads[integer(row, 'place')] = rowReader.payloadIn(row)
      return payloads
    },
  }
}
