/**
 * Applies decisions to a store that other processes change as well: decides about the record as last seen, and writes the
 * result if the record is unchanged. Otherwise reads it and decides again.
 */
import { LRUCache } from 'lru-cache'
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { takeBack } from '../../messages/events.ts'
import type { Decision, Lease, MessageRecord, PayloadChange } from '../../messages/record.ts'
import type { Indexes, SharedStore, Versioned, VersionedChange } from '../record-store.ts'
import type { NewEvent } from '../store.ts'
import { hasMore, type Command, type GrantedLease, type Runner } from './commands.ts'

/** Recently seen records, so that most decisions need no read. Limited by the number of their events. */
const MOST_SEEN = 16_384
/** Maximum time that conflicting writers of one message may delay a command. */
const MOST_MS = 30_000

const NOTHING_WRITTEN = { versions: [], granted: [], refused: [] }

interface SharedRunner extends Runner {
  run<A>(commands: readonly Command<A>[]): Promise<readonly A[]>
  /** The indexes of the store. Records read by `due` are cached. */
  readonly indexes: Indexes
  /** Drops the cached record, because another connection has changed it. */
  forget(key: string): void
  /**
   * Ends leases that no handler got, because the response to the write was lost. `mayTakeBack`: whether the record can be
   * reached, and no event of it is in flight here.
   */
  takeBackLost(mayTakeBack: (key: string) => boolean): Promise<void>
}

interface SharedRunnerOptions {
  readonly store: SharedStore
  /** The store's time, as estimated by this process. Undefined if callers pass times of their own clocks. */
  readonly storeNowMs: (() => number) | undefined
  /** How long a write may still take effect after its response was lost. */
  readonly writeLastsMs: number
  /** Notifies that a lease must be taken back although no caller receives an error. */
  readonly onLost?: (() => void) | undefined
}

/** A lease that a write may have granted. */
interface LostLease extends GrantedLease {
  /** The write may take effect until then (by `monotonicMs`). */
  readonly endMs: number
}

/** The combined result of commands with the same key. */
interface Folded<A> {
  readonly answers: readonly A[]
  /** Undefined if no command changes the record. */
  readonly change: VersionedChange | undefined
}

export function createSharedRunner({ store, storeNowMs, writeLastsMs, onLost }: SharedRunnerOptions): SharedRunner {
  const seen = new LRUCache<string, Versioned>({ maxSize: MOST_SEEN, sizeCalculation: sizeOf })
  const lost = new Set<LostLease>()

  function lose(grants: Iterable<GrantedLease>, lastsMs: number): void {
    const endMs = monotonicMs() + lastsMs
    for (const { key, id, lease } of grants) lost.add({ key, id, lease, endMs })
  }

  async function write(changes: readonly VersionedChange[], asOfMs: number | undefined) {
    try {
      const versions = await store.write(changes, asOfMs)
      const granted: GrantedLease[] = []
      /** Leases that this write did not grant, and that no other write of this process is known to have granted. */
      const refused: GrantedLease[] = []
      for (const [index, change] of changes.entries()) {
        const { key, after } = change
        const version = versions[index]
        const grant = grantedLease(change)
        if (grant !== undefined) {
          if (version !== undefined) granted.push(grant)
          else if (!isSame(seen.get(key)?.record.lease, grant.lease)) refused.push(grant)
        }
        if (version === undefined || after === undefined) seen.delete(key)
        else seen.set(key, { version, record: after })
      }
      // A lease is granted only if no other is valid: a lost write of these records has not taken effect and will not.
      if (lost.size > 0) {
        const keys = new Set(granted.map(({ key }) => key))
        for (const one of lost) if (keys.has(one.key)) lost.delete(one)
      }
      return { versions, granted, refused }
    } catch (error) {
      for (const { key } of changes) seen.delete(key)
      // Any other error is a refusal: nothing was written.
      if (error instanceof MessagingWebhooksError)
        lose(
          changes.flatMap((change) => grantedLease(change) ?? []),
          writeLastsMs,
        )
      throw error
    }
  }

  async function run<A>(commands: readonly Command<A>[]): Promise<readonly A[]> {
    const granted: GrantedLease[] = []
    try {
      return await runAll(commands, granted)
    } catch (error) {
      // The caller does not learn about leases that earlier writes of this call granted.
      lose(granted, 0)
      throw error
    }
  }

  async function runAll<A>(commands: readonly Command<A>[], granted: GrantedLease[]): Promise<readonly A[]> {
    const answers: A[] = []
    let open = placesByKey(commands)
    /** Records read in this call. Undefined before the first read. */
    let read: ReadonlyMap<string, Versioned> | undefined
    let asOfMs = storeNowMs?.()
    const endMs = monotonicMs() + MOST_MS
    while (open.size > 0) {
      const again = new Map<string, readonly number[]>()
      const decided = new Map<string, Folded<A>>()
      for (const [key, places] of open) {
        const group = places.flatMap((place) => commands[place] ?? [])
        const known = read === undefined ? seen.get(key) : read.get(key)
        const folded = fold(key, group, known)
        // Without a write, a stale record would go unnoticed: read it first.
        if (folded.change === undefined && read === undefined) again.set(key, places)
        else decided.set(key, folded)
      }
      // All writers use one order, so that no two writes deadlock.
      const changes = [...decided.values()].flatMap(({ change }) => change ?? []).sort(byKeyOrder)
      const written = changes.length === 0 ? NOTHING_WRITTEN : await write(changes, asOfMs)
      const { versions } = written
      granted.push(...written.granted)
      // A later `ClockJump` would make the caller repeat changes that are written, so later writes do not check the clock.
      if (versions.some((version) => version !== undefined)) asOfMs = undefined
      const refused = new Set(changes.flatMap(({ key }, index) => (versions[index] === undefined ? [key] : [])))
      for (const [key, folded] of decided) {
        const places = open.get(key) ?? []
        if (refused.has(key)) again.set(key, places)
        else for (const [index, answer] of folded.answers.entries()) answers[places[index] ?? 0] = answer
      }
      open = again
      if (open.size === 0) break
      if (monotonicMs() > endMs)
        throw new MessagingWebhooksError('store_slow', 'Other processes keep writing the same messages.')
      read = await store.read([...open.keys()])
      see(read)
      // A refused lease may be in the record: the first response was lost, the write was repeated, and others wrote in between.
      const lostGrants = written.refused.filter((grant) => hasLease(read?.get(grant.key)?.record, grant))
      lose(lostGrants, 0)
      if (lostGrants.length > 0) onLost?.()
    }
    return answers
  }

  /** Runs alone, so that one unreachable record does not block the others or a claim. */
  async function takeBackOne(one: LostLease): Promise<void> {
    const nowMs = monotonicMs()
    const decide = (record: MessageRecord | undefined): Decision<boolean> =>
      hasLease(record, one) ? takeBack(record, ({ token }) => token === one.lease.token) : { answer: false }
    try {
      const [isWithdrawn] = await run([{ key: one.key, decide }])
      // A write that has not appeared yet may still arrive.
      if (isWithdrawn === true || one.endMs < nowMs) lost.delete(one)
    } catch {
      // Retried with the next claim.
    }
  }

  function see(found: ReadonlyMap<string, Versioned>): void {
    for (const [key, versioned] of found) seen.set(key, versioned)
  }

  return {
    run,
    indexes: {
      ...store,
      async due(request) {
        const { found, payloads, ...due } = await store.due(request)
        see(found)
        const likely = due.keys.flatMap((key) => {
          const [first] = found.get(key)?.record.waiting ?? []
          if (first === undefined) return []
          const payload = payloads?.get(key)
          return [{ key, id: first.id, payload: payload?.id === first.id ? payload : undefined }]
        })
        return { ...due, likely }
      },
    },
    forget: (key) => void seen.delete(key),
    async remove(keys, isGone) {
      const found = await store.read(keys)
      const changes = [...found].flatMap(([key, versioned]) => {
        if (!isGone(versioned.record)) return []
        const { version, record } = versioned
        return [{ key, expected: version, before: record, after: undefined, payloads: [], admitted: [] }]
      })
      if (changes.length > 0) await write(changes, undefined)
    },
    abandon: (leases) => lose(leases, 0),
    async takeBackLost(mayTakeBack) {
      await Promise.all([...lost].filter(({ key }) => mayTakeBack(key)).map(takeBackOne))
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
    if (admits !== undefined && hasMore(record, decision.record)) admitted.push(admits.event)
    if (decision.payloads !== undefined) payloads = [...payloads, ...decision.payloads]
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
function grantedLease({ key, before, after }: VersionedChange): GrantedLease | undefined {
  const { lease, waiting = [] } = after ?? {}
  if (lease === undefined || lease.token === before?.lease?.token) return undefined
  const leased = waiting.find(({ token }) => token === lease.token)
  return leased && { key, id: leased.id, lease }
}

/**
 * Compares all fields: another process may grant the same token, and this one may reuse it later, or at the same time for
 * another event.
 */
function hasLease(record: MessageRecord | undefined, { id, lease }: GrantedLease): boolean {
  const isLeased = record?.waiting.some((entry) => entry.id === id && entry.token === lease.token)
  return isLeased === true && isSame(record?.lease, lease)
}

function isSame(one: Lease | undefined, other: Lease): boolean {
  return one?.token === other.token && one.worker === other.worker && one.untilMs === other.untilMs
}

function byKeyOrder(a: VersionedChange, b: VersionedChange): number {
  return a.key < b.key ? -1 : 1
}

function sizeOf({ record: { waiting, dead, settled } }: Versioned): number {
  return 1 + waiting.length + dead.length + settled.length
}
