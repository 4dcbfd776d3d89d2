/**
 * Applies decisions to a store that other processes change, too: decides about the record as it was last seen, and writes the
 * next one if nobody has changed it meanwhile; else reads it and decides again.
 */
import { LRUCache } from 'lru-cache'
import { monotonicMs } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import { takeBack } from '../../messages/deliver.ts'
import { unchanged, type Lease, type MessageRecord, type PayloadChange } from '../../messages/record.ts'
import type { Indexes, SharedStore, Versioned, VersionedChange } from '../record-store.ts'
import type { NewEvent } from '../store.ts'
import type { Command, Runner } from './runner.ts'

/** Records that were seen last, so that most decisions need no read; as many events as these have. */
const MOST_SEEN = 16_384
/** Writers of one message can keep each other from their end for so long. */
const MOST_MS = 30_000

interface SharedRunner extends Runner {
  run<A>(commands: readonly Command<A>[]): Promise<readonly A[]>
  /** The indexes of the store; what `due` reads with the keys is remembered. */
  readonly indexes: Indexes
  /** Another connection has changed it. */
  forget(key: string): void
  /** Ends leases that this process was granted by writes whose answers were lost: no handler saw them. */
  takeBackLost(): Promise<void>
}

interface SharedRunnerOptions {
  readonly store: SharedStore
  /** The store's time, as far as this process knows it; undefined where the callers' clocks count. */
  readonly storeNowMs: (() => number) | undefined
  /** For how long a write may still take effect after its answer was lost. */
  readonly writeLastsMs: number
}

/** A lease that a write may have granted. */
interface LostLease {
  readonly lease: Lease
  /** Until then (by `monotonicMs`) the write may still take effect. */
  readonly endMs: number
}

/** What commands of one key make of a record, one after the other. */
interface Folded<A> {
  readonly answers: readonly A[]
  /** Undefined where none of them changes it. */
  readonly change: VersionedChange | undefined
}

export function createSharedRunner({ store, storeNowMs, writeLastsMs }: SharedRunnerOptions): SharedRunner {
  const seen = new LRUCache<string, Versioned>({ maxSize: MOST_SEEN, sizeCalculation: sizeOf })
  const lost = new Map<string, LostLease>()

  async function write(changes: readonly VersionedChange[], asOfMs: number | undefined) {
    try {
      const versions = await store.write(changes, asOfMs)
      for (const [index, change] of changes.entries()) {
        const { key, after } = change
        const version = versions[index]
        if (version === undefined || after === undefined) seen.delete(key)
        else seen.set(key, { version, record: after })
        // It was granted because no other lease lasts: what was lost was not written, and will not be.
        if (version !== undefined && grantedLease(change) !== undefined) lost.delete(key)
      }
      return versions
    } catch (error) {
      for (const change of changes) {
        seen.delete(change.key)
        const lease = grantedLease(change)
        // Any other error is a refusal: nothing was written.
        if (error instanceof MessagingWebhooksError && lease !== undefined)
          lost.set(change.key, { lease, endMs: monotonicMs() + writeLastsMs })
      }
      throw error
    }
  }

  async function run<A>(commands: readonly Command<A>[]): Promise<readonly A[]> {
    const granted = new Map<string, Lease>()
    try {
      return await runAll(commands, granted)
    } catch (error) {
      // Nobody hears of the leases that earlier writes of this call have granted.
      for (const [key, lease] of granted) lost.set(key, { lease, endMs: monotonicMs() + writeLastsMs })
      throw error
    }
  }

  async function runAll<A>(commands: readonly Command<A>[], granted: Map<string, Lease>): Promise<readonly A[]> {
    const answers: A[] = []
    let open = placesByKey(commands)
    /** What was read in this call; undefined before anything was. */
    let read: ReadonlyMap<string, Versioned> | undefined
    let asOfMs = storeNowMs?.()
    const endMs = monotonicMs() + MOST_MS
    while (open.size > 0) {
      const again = new Map<string, readonly number[]>()
      const decided = new Map<string, Folded<A>>()
      for (const [key, places] of open) {
        const group = places.flatMap((place) => commands[place] ?? [])
        const folded = fold(key, group, read === undefined ? seen.get(key) : read.get(key))
        // Nothing is written that would find out whether others have changed the record.
        if (folded.change === undefined && read === undefined) again.set(key, places)
        else decided.set(key, folded)
      }
      // In one order everywhere, so that no two writes wait for each other.
      const changes = [...decided.values()].flatMap(({ change }) => change ?? []).sort(byKeyOrder)
      const versions = changes.length === 0 ? [] : await write(changes, asOfMs)
      for (const [index, change] of changes.entries()) {
        const lease = versions[index] === undefined ? undefined : grantedLease(change)
        if (lease !== undefined) granted.set(change.key, lease)
      }
      // What was written stays, whatever time it is by now: the rest is not decided anew without it.
      if (versions.some((version) => version !== undefined)) asOfMs = undefined
      const refused = new Set(changes.flatMap(({ key }, index) => (versions[index] === undefined ? [key] : [])))
      for (const [key, folded] of decided) {
        const places = open.get(key) ?? []
        if (refused.has(key)) again.set(key, places)
        else for (const [index, answer] of folded.answers.entries()) answers[places[index] ?? 0] = answer
      }
      open = again
      if (open.size === 0) break
      if (monotonicMs() > endMs) throw new MessagingWebhooksError('store_slow', 'Others write the same messages.')
      read = await store.read([...open.keys()])
      see(read)
    }
    return answers
  }

  function see(found: ReadonlyMap<string, Versioned>): void {
    for (const [key, versioned] of found) seen.set(key, versioned)
  }

  return {
    run,
    indexes: {
      ...store,
      async due(request) {
        const { found, ...due } = await store.due(request)
        see(found)
        const likely = due.keys.flatMap((key) => {
          const [first] = found.get(key)?.record.waiting ?? []
          return first === undefined ? [] : [{ key, id: first.id }]
        })
        return { ...due, likely }
      },
    },
    forget: (key) => void seen.delete(key),
    async remove(keys, isGone) {
      const found = await store.read(keys)
      const changes = [...found].flatMap(([key, { version, record }]) =>
        isGone(record)
          ? [{ key, expected: version, before: record, after: undefined, payloads: [], admitted: [] }]
          : [],
      )
      if (changes.length > 0) await write(changes, undefined)
    },
    async takeBackLost() {
      if (lost.size === 0) return
      const nowMs = monotonicMs()
      const leases = [...lost]
      const isLost = await run(
        leases.map(([key, { lease }]): Command<boolean> => ({
          key,
          decide: (record) =>
            isSame(record?.lease, lease) ? takeBack(record, ({ token }) => token === lease.token) : unchanged(false),
        })),
      )
      // A write that is not seen yet may still be on its way.
      for (const [index, [key, one]] of leases.entries())
        if ((isLost[index] === true || one.endMs < nowMs) && lost.get(key) === one) lost.delete(key)
    },
  }
}

function fold<A>(key: string, commands: readonly Command<A>[], known: Versioned | undefined): Folded<A> {
  const before = known?.record
  let record: MessageRecord | undefined = before
  let payloads: readonly PayloadChange[] = []
  const admitted: NewEvent[] = []
  const answers = commands.map(({ decide, admits }) => {
    const decision = decide(record)
    if (decision.record === undefined) return decision.answer
    if (admits !== undefined && decision.record.waiting.length > (record?.waiting.length ?? 0))
      admitted.push(admits.event)
    if (decision.payloads.length > 0) payloads = [...payloads, ...decision.payloads]
    record = decision.record
    return decision.answer
  })
  if (record === before || record === undefined) return { answers, change: undefined }
  const change = { key, expected: known?.version, before, after: record, payloads, admitted }
  return { answers, change }
}

function placesByKey<A>(commands: readonly Command<A>[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [place, { key }] of commands.entries()) {
    const known = places.get(key)
    if (known === undefined) places.set(key, [place])
    else known.push(place)
  }
  return places
}

/** The lease that a change grants. */
function grantedLease({ before, after }: VersionedChange): Lease | undefined {
  return after?.lease?.token === before?.lease?.token ? undefined : after?.lease
}

/** Another process may give out the same token, and this one again later. */
function isSame(one: Lease | undefined, other: Lease): boolean {
  return one?.token === other.token && one.worker === other.worker && one.untilMs === other.untilMs
}

function byKeyOrder(a: VersionedChange, b: VersionedChange): number {
  return a.key < b.key ? -1 : 1
}

function sizeOf({ record: { waiting, dead, settled } }: Versioned): number {
  return 1 + waiting.length + dead.length + settled.length
}
