/** The whole conformance suite, on the tests' own clock, and every statement that it makes the store send. */
import { postgresStore, type PostgresStoreOptions } from 'messaging-webhooks/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRecordingProxy } from '../../support/servers/recording-proxy.ts'
import { conformance } from '../conformance.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'
import { verbsOf, wordsOf, wordsOfPage } from './sql-words.ts'

/** Words and first words of the statements, and how many there were. */
const sent = { words: new Set<string>(), verbs: new Set<string>(), statements: 0 }
let proxy: Awaited<ReturnType<typeof startRecordingProxy>>

function note(statements: string): void {
  sent.statements += 1
  for (const word of wordsOf(statements)) sent.words.add(word)
  for (const verb of verbsOf(statements)) sent.verbs.add(verb)
}

function postgresConformance(interleavings: number, options: Partial<PostgresStoreOptions>): void {
  conformance({
    makeStore() {
      const schema = newSchema()
      return {
        store: postgresStore({ connectionString: proxy.url, schema, clock: 'caller', ...options }),
        dispose: () => dropSchema(schema),
      }
    },
    interleavings,
    capabilities: postgresStore({ connectionString: POSTGRES_URL }).capabilities,
  })
}

describePostgres('conformance', () => {
  beforeAll(async () => {
    proxy = await startRecordingProxy(POSTGRES_URL, note)
  })
  afterAll(() => proxy.close())

  postgresConformance(20, { maxConnections: 3 })

  test('every statement is listed in the reference, and none begins a transaction', () => {
    const { words, verbs } = wordsOfPage()
    expect(sent.statements).toBeGreaterThan(1_000)
    expect([...sent.words].filter((word) => !words.has(word))).toEqual([])
    expect([...sent.verbs].filter((verb) => !verbs.has(verb))).toEqual([])
    expect([...sent.verbs]).not.toContain('BEGIN')
    // The rest of the list is for handlers' transactions and the server's clock.
    const unsent = [...words].filter((word) => !sent.words.has(word))
    console.log(`${sent.statements} round trips; listed and not sent: ${unsent.join(', ')}`)
  })
})
