/** Names and placeholders in the text of statements. */

/** The server's clock in milliseconds, the same in all statements of one round trip. */
export const SERVER_NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

/** Inserts the schema into a statement without values. */
export function inSchema(statement: string, schema: string): string {
  return statement.replaceAll('{schema}', quoteName(schema))
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
