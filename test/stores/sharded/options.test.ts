/** What cannot be one store is refused where it is made; what all shards can, the whole can. */
import { memoryStore, OptionsError } from 'messaging-webhooks'
import { postgresStore } from 'messaging-webhooks/postgres'
import { shardedStore } from 'messaging-webhooks/sharded'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, test } from 'vitest'

const store = memoryStore()
const [a, b] = [memoryStore(), memoryStore()]
const { listsEvents: _, ...deaf } = memoryStore().capabilities

const WRONG: readonly (readonly [what: string, make: () => unknown, says: RegExp])[] = [
  // @ts-expect-error: a list has no names.
  ['a list', () => shardedStore([a, b]), /give each a name that it keeps/],
  ['no store', () => shardedStore({}), /There is no store/],
  // @ts-expect-error: it is none.
  ['what is no store', () => shardedStore({ a, b: {} }), /b is no store/],
  ['a store twice', () => shardedStore({ a: store, b: store }), /given twice/],
  ['a name that is no folder', () => shardedStore({ '../a': a }), /A name of a shard/],
  ['a sharded store', () => shardedStore({ a: shardedStore({ a }), b }), /a is a sharded store itself/],
  ['a misspelt option', () => shardedStore({ a, b }, { generation: [['a']] } as object), /did you mean generations/],
  ['a generation of others', () => shardedStore({ a }, { generations: [['a', 'c']] }), /names "c"/],
  ['a store of no generation', () => shardedStore({ a, b }, { generations: [['a']] }), /No generation names b/],
  ['an empty generation', () => shardedStore({ a }, { generations: [['a'], []] }), /names no store/],
  [
    'generations of what cannot be looked through',
    () =>
      shardedStore(
        { a, b: { capabilities: deaf, open: (host) => b.open(host) } },
        { generations: [['a', 'b'], ['a']] },
      ),
    /b has no `events`/,
  ],
]

test.each(WRONG)('%s is refused', (_what, make, says) => {
  expect(make).toThrow(OptionsError)
  expect(make).toThrow(says)
})

test('it can do what all shards can', () => {
  const file = sqliteStore('unused.db')
  const database = postgresStore({ connectionString: 'postgres://127.0.0.1/unused' })
  expect(shardedStore({ a: file, b: database }).capabilities).toMatchObject({ durable: true, shared: true })
  expect(shardedStore({ a: file, b: store }).capabilities).toMatchObject({ durable: false, shared: false })
  expect(shardedStore({ a: file, b: database }).capabilities.spoolFolder).toBeUndefined()
})
