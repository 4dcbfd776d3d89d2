/** The only call of `pg` that passes SQL to it: the linter refuses others, and this one accepts constant SQL alone. */
import type { QueryConfig } from 'pg'
import type { Sql } from '../../runtime/sql.ts'
import { isRecord } from '../../runtime/values.ts'
import type { Row } from '../sql/values.ts'

export type Rows = readonly Row[]

export type Query = QueryConfig & { readonly text: Sql; readonly query_timeout?: number }

/** A client of `pg` that accepts no other text. */
interface Client {
  query(query: Query): Promise<unknown>
}

/** A text without values may be several statements. Answers the rows of the last. */
export async function sendQuery(client: Client, query: Query): Promise<Rows> {
  const result = await client.query(query)
  const last: unknown = Array.isArray(result) ? result.at(-1) : result
  return isRecord(last) && areRows(last['rows']) ? last['rows'] : []
}

function areRows(rows: unknown): rows is Rows {
  return Array.isArray(rows)
}
