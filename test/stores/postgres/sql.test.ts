/** The reference lists the SQL that the sources can send. */
import { expect, test } from 'vitest'
import { wordsOf, wordsOfPage, wordsOfSources } from './sql-words.ts'

/** Words of messages and of the server's answers. */
const NOT_SENT = ['ERROR']
/** Features that distributed engines and poolers lack. */
const NEVER = [
  ...['FUNCTION', 'PROCEDURE', 'TRIGGER', 'LANGUAGE', 'EXTENSION', 'CALL', 'LOCK', 'SESSION', 'SAVEPOINT', 'TRUNCATE'],
  ...['TEMP', 'TEMPORARY', 'UNLOGGED', 'DECLARE', 'CURSOR', 'COPY', 'REFERENCES', 'NOTIFY'],
]

test('the reference lists exactly the words of the sources', () => {
  const words = wordsOfPage()
  const sources = wordsOfSources()
  for (const word of NOT_SENT) expect(sources.delete(word), word).toBe(true)
  const unlisted = [...sources].filter(([word]) => !words.has(word))
  const unused = [...words].filter((word) => !sources.has(word))
  expect({ unlisted, unused }).toEqual({ unlisted: [], unused: [] })
})

test('the reference lists nothing that a distributed engine may silently lack', () => {
  const words = wordsOfPage()
  expect(NEVER.filter((word) => words.has(word))).toEqual([])
  expect([...words].filter((word) => word.includes('advisory'))).toEqual([])
})

test('finds the words of a statement', () => {
  const statement = `DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$; -- COMMENT
    CREATE TEMPORARY TABLE "QUOTED" (a jsonb DEFAULT 'VALUE ''TEXT'); SELECT E'\\'IN IT' || x.b::text FROM t`
  expect(wordsOf(statement)).toEqual([
    ...['DO', 'BEGIN', 'PERFORM', 'END', 'CREATE', 'TEMPORARY', 'TABLE', 'DEFAULT', 'SELECT', 'FROM'],
    ...['pg_advisory_lock', 'jsonb', 'text'],
  ])
})
