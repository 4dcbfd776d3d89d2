/**
 * Several stores as one, by the key of the message: for more than one database can take.
 *
 * @module messaging-webhooks/sharded
 */
import { z } from 'zod'
import { checkOptions, hasMethods } from '../../check-options.ts'
import { OptionsError } from '../../errors.ts'
import type { Store, StoreCapabilities } from '../../inbox/store.ts'
import { joinParts, openAsOne, type Shards } from './open.ts'

/** What `shardedStore` takes beside the stores. */
export interface ShardedStoreOptions {
  /**
   * While shards are added or taken away: lists of the names of those that share the messages. New messages go by the first
   * list; what a shard knows by one of the others stays there, with all that comes of it. Default: all of them, in one list.
   */
  readonly generations?: readonly (readonly string[])[] | undefined
}

/** A name is a folder of the spool, too. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

const optionsSchema = z.strictObject({
  generations: z.array(z.array(z.string())).optional(),
} satisfies Record<keyof ShardedStoreOptions, z.ZodType>)

/**
 * Several stores as one: `shardedStore({ a: postgresStore(…), b: postgresStore(…) })`. A message with all its events stands in
 * one of them, by its key and their names (rendezvous hashing), so a name must stay what it is; in which order they are given
 * does not matter. One that is away has its share of the callbacks spooled, and harms no other. Throws an `OptionsError` for a
 * list in place of names, a store that is given twice, and generations that do not name these stores.
 */
export function shardedStore<X extends object>(
  stores: Readonly<Record<string, Store<X>>>,
  options: ShardedStoreOptions = {},
): Store<X> {
  const shards = checkShards(stores, options)
  return {
    capabilities: capabilitiesOf([...shards.stores.values()].map(({ capabilities }) => capabilities)),
    open: (host) => openAsOne(shards, host),
    parts: { stores: shards.stores, join: (host) => joinParts(shards, host) },
  }
}

function checkShards<X extends object>(
  given: Readonly<Record<string, Store<X>>>,
  options: ShardedStoreOptions,
): Shards<X> {
  const { generations } = checkOptions(optionsSchema, options, 'shardedStore')
  if (!hasNames(given))
    throw wrong('The stores are no object; give each a name that it keeps, as in `shardedStore({ a, b })`.')
  const stores = new Map(Object.entries(given))
  if (stores.size === 0) throw wrong('There is no store.')
  for (const [name, store] of stores) {
    if (!NAME.test(name))
      throw wrong('A name of a shard has up to 64 letters, digits, `_` and `-`, and begins with a letter or a digit.')
    if (!hasMethods(store, ['open'])) throw wrong(`${name} is no store.`)
    if (store.parts !== undefined) throw wrong(`${name} is a sharded store itself; give its shards in its place.`)
  }
  if (new Set(stores.values()).size < stores.size) throw wrong('A store is given twice.')
  checkGenerations(stores, generations)
  return { stores, generations: generations ?? [[...stores.keys()]] }
}

function hasNames(given: unknown): boolean {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

function checkGenerations<X extends object>(
  stores: ReadonlyMap<string, Store<X>>,
  generations: readonly (readonly string[])[] | undefined,
): void {
  if (generations === undefined) return
  const named = new Set(generations.flat())
  const unknown = [...named].find((name) => !stores.has(name))
  if (unknown !== undefined)
    throw wrong(`A generation names ${JSON.stringify(unknown.slice(0, 64))}, which is no store here.`)
  const unnamed = [...stores.keys()].find((name) => !named.has(name))
  if (unnamed !== undefined) throw wrong(`No generation names ${unnamed}.`)
  if (generations.some((names) => names.length === 0)) throw wrong('A generation names no store.')
  const deaf = [...stores].find(([, { capabilities }]) => capabilities.listsEvents !== true)
  if (generations.length > 1 && deaf !== undefined)
    throw wrong(`${deaf[0]} has no \`events\`, by which generations are looked through.`)
}

function wrong(detail: string): OptionsError {
  return new OptionsError(`shardedStore: ${detail}`)
}

/** What all of them can do. */
function capabilitiesOf(all: readonly StoreCapabilities[]): StoreCapabilities {
  const every = (has: (one: StoreCapabilities) => boolean | undefined): boolean => all.every((one) => has(one) === true)
  return {
    name: 'sharded',
    durable: every(({ durable }) => durable),
    shared: every(({ shared }) => shared),
    ownClock: every(({ ownClock }) => ownClock),
    admitsAndClaims: every(({ admitsAndClaims }) => admitsAndClaims),
    listsEvents: every(({ listsEvents }) => listsEvents),
    knowsHolders: every(({ knowsHolders }) => knowsHolders),
    forgets: every(({ forgets }) => forgets),
    expects: every(({ expects }) => expects),
    hasParts: true,
  }
}
