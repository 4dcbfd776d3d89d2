/** SQL is made of constants and names. A value does not compile. */
import { expect, test } from 'vitest'
import { joined, plainName, quotedName, sql, wholeNumber } from '../../src/runtime/sql.ts'

const LIMIT = 5_000

test('joins constants, names and other SQL', () => {
  const columns = joined(['a', 'b_2'].map(plainName))
  const direction: 'ASC' | 'DESC' = 'ASC'
  expect(sql`SELECT ${columns} FROM ${quotedName('a"b', '"')} ORDER BY a ${direction} LIMIT ${LIMIT} -- \n`).toBe(
    'SELECT a, b_2 FROM "a""b" ORDER BY a ASC LIMIT 5000 -- \n',
  )
  expect(quotedName('a`b', '`')).toBe('`a``b`')
  expect(sql`PRAGMA cache_size = ${wholeNumber(-2)}`).toBe('PRAGMA cache_size = -2')
})

test('the compiler refuses what is known only when the program runs', () => {
  const build = (name: string, count: number) => [
    // @ts-expect-error -- A text.
    sql`SELECT ${name}`,
    // @ts-expect-error -- A number.
    sql`SELECT ${LIMIT} LIMIT ${count}`,
    // @ts-expect-error -- Text that is not SQL.
    joined([`SELECT ${name}`]),
  ]
  expect(build('a', 1)).toEqual(['SELECT a', 'SELECT 5000 LIMIT 1', 'SELECT a'])
})

test('names and numbers are checked', () => {
  for (const name of ['', 'a b', "a'", 'a"b', 'A', '1a', 'a;', 'é'])
    expect(() => plainName(name), name).toThrow(TypeError)
  for (const number of [1.5, NaN, Infinity, 2 ** 53]) expect(() => wholeNumber(number), `${number}`).toThrow(TypeError)
})
