/** SQL is made of constants and names. A value does not compile. */
import { expect, test } from 'vitest'
import { joined, plainName, positional, quotedName, sql, wholeNumber, type Sql } from '../../src/runtime/sql.ts'
import type { Connection } from '../../src/sqlite/connection.ts'
import { execute, query } from '../../src/stores/mysql/query.ts'
import { sendQuery } from '../../src/stores/postgres/query.ts'
import type { Statement } from '../../src/stores/sql/dialect.ts'

const LIMIT = 5_000

test('joins constants, names and other SQL', () => {
  const columns = joined(['a', 'b_2'].map(plainName))
  const direction: 'ASC' | 'DESC' = 'ASC'
  expect(sql`SELECT ${columns} FROM ${quotedName('a"b', '"')} ORDER BY a ${direction} LIMIT ${LIMIT} -- \n`).toBe(
    'SELECT a, b_2 FROM "a""b" ORDER BY a ASC LIMIT 5000 -- \n',
  )
  expect(quotedName('a`b', '`')).toBe('`a``b`')
  expect(sql`PRAGMA cache_size = ${wholeNumber(-2)}`).toBe('PRAGMA cache_size = -2')
  expect(joined([sql`a`, sql`b`], ';\n')).toBe('a;\nb')
})

test('replaces each use of a parameter by a question mark', () => {
  const { text, numbers } = positional(sql`SELECT $2, $1 FROM JSON_TABLE($12, '$[*]') WHERE a = $2`)
  expect(text).toBe(`SELECT ?, ? FROM JSON_TABLE(?, '$[*]') WHERE a = ?`)
  expect(numbers).toEqual([2, 1, 12, 2])
})

test('the compiler refuses what is known only when the program runs', () => {
  const build = (name: string, count: number) => [
    // @ts-expect-error -- A text.
    sql`SELECT ${name}`,
    // @ts-expect-error -- A number.
    sql`SELECT ${LIMIT} LIMIT ${count}`,
    // @ts-expect-error -- Text that is not SQL.
    joined([`SELECT ${name}`]),
    // @ts-expect-error -- A separator.
    joined([sql`SELECT 1`, sql`SELECT 2`], name),
  ]
  expect(build('a', 1)).toEqual(['SELECT a', 'SELECT 5000 LIMIT 1', 'SELECT a', 'SELECT 1aSELECT 2'])
})

test('the compiler refuses types that name no values', () => {
  const build = (text: string, count: number) => [
    // @ts-expect-error -- A pattern.
    sql`SELECT ${`'${text}'` as const}`,
    // @ts-expect-error -- A pattern among constants.
    sql`SELECT ${text === '' ? ('a' as const) : (`b${text}` as const)}`,
    // @ts-expect-error -- A pattern of a number.
    sql`SELECT ${`${count}` as const}`,
    // @ts-expect-error -- A branded text.
    sql`SELECT ${branded(text)}`,
    // @ts-expect-error -- A branded number.
    sql`SELECT ${branded(count)}`,
    // @ts-expect-error -- A pattern of TypeScript.
    sql`SELECT ${upper(text)}`,
  ]
  expect(build('a', 1)).toEqual(["'a'", 'ba', '1', 'a', '1', 'A'].map((part) => `SELECT ${part}`))
})

function branded<Value>(value: Value): Value & { readonly of: 'brand' } {
  // Only the compiler sees a brand.
  return value as Value & { readonly of: 'brand' }
}

function upper(text: string): Uppercase<string> {
  // The method has this effect.
  return text.toUpperCase() as Uppercase<string>
}

test('the compiler refuses other text where a driver takes it', () => {
  const taken: unknown[] = []
  function take(text: unknown): Promise<unknown[]> {
    taken.push(text)
    return Promise.resolve([])
  }
  const client = { query: take, execute: take }
  const ask = ({ text }: Statement): Promise<unknown> => take(text)
  const file: Pick<Connection, 'exec'> = { exec: (text: Sql) => void take(text) }
  const run = (id: string) => {
    const text = `DELETE '${id}'`
    // @ts-expect-error -- A variable.
    void sendQuery(client, { text })
    // @ts-expect-error -- A template.
    void sendQuery(client, { text: `DELETE '${id}'` })
    // @ts-expect-error -- A variable.
    void query(client, text)
    // @ts-expect-error -- String.raw.
    void execute(client, String.raw`DELETE '${id}'`, [])
    // @ts-expect-error -- A joined list.
    file.exec(['DELETE', `'${id}'`].join(' '))
    // @ts-expect-error -- A condition.
    file.exec(id === '' ? sql`DELETE` : text)
    // @ts-expect-error -- A statement of a store.
    void ask({ name: 'a', text })
  }
  run('a')
  expect(taken).toHaveLength(7)
})

test('names and numbers are checked', () => {
  for (const name of ['', 'a b', "a'", 'a"b', 'A', '1a', 'a;', 'é'])
    expect(() => plainName(name), name).toThrow(TypeError)
  for (const number of [1.5, NaN, Infinity, 2 ** 53]) expect(() => wholeNumber(number), `${number}`).toThrow(TypeError)
})
