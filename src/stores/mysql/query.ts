/** The only calls of `mysql2` that pass SQL to it: the linter refuses others, and these accept constant SQL alone. */
import type { Sql } from '../../runtime/sql.ts'

/** Whatever the pool is set to: exact numbers as digits, and other values by the type of their column. */
const FORM = { rowsAsArray: false, nestTables: false, supportBigNumbers: true, bigNumberStrings: true, typeCast }

function typeCast(_: unknown, next: () => unknown): unknown {
  return next()
}

/** A connection of `mysql2` that accepts no other text. */
interface Client {
  execute(statement: typeof FORM & { readonly sql: Sql }, values: (string | null)[]): Promise<readonly unknown[]>
  query(text: Sql): Promise<readonly unknown[]>
}

/** Runs a statement with a value for each of its question marks. */
export function execute(client: Client, text: Sql, values: (string | null)[]): Promise<readonly unknown[]> {
  return client.execute({ sql: text, ...FORM }, values)
}

/** Runs a statement without values. */
export function query(client: Client, text: Sql): Promise<readonly unknown[]> {
  return client.query(text)
}
