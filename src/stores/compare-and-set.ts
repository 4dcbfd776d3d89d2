/**
 * Applies commands to an engine that other processes change as well: decides about each record as last seen, and writes the
 * result if the record is unchanged. Otherwise reads it and decides again.
 */
import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { monotonicMs } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { traitsOf, type AnswerOf, type Circumstances, type Command } from '../messages/commands.ts'
import { decide } from '../messages/decide.ts'
import type { Lease, MessageRecord, PayloadChange } from '../messages/record.ts'
import type { Payload } from '../messages/views.ts'
import type { DueLookup, SharedEngine, Versioned, VersionedChange } from './engine.ts'
import { replacing } from './local.ts'

/** Recently seen records, so that most decisions need no read. Limited by the number of their events. */
const MAX_SEEN = 16_384
/** Payloads that `due` has read for the leases that follow it. */
const MAX_READ_AHEAD = 1_024
/** Maximum time that conflicting writers of one message may delay a command. */
const MAX_CONFLICT_MS = 30_000

const NONE: readonly never[] = []

export type SharedRunner = ReturnType<typeof createSharedRunner>

export function createSharedRunner(options: {
  readonly engine: SharedEngine
  /** The name under which this process leases. Undefined if it may not lease this message now. */
  readonly workerFor: (key: string) => string | undefined
  readonly about: () => Pick<Circumstances, 'trustedMs' | 'retention'>
  /** Called for each change that was written. */
  readonly onApplied?: (change: VersionedChange) => void
  /** Called if a lease that did not apply is stored all the same: it was sent twice, and others wrote after the first time. */
  readonly onLeaseLost?: () => void
}) {
  const { engine, workerFor, about, onApplied, onLeaseLost } = options
  const seen = new LRUCache<string, Versioned>({ maxSize: MAX_SEEN, sizeCalculation: sizeOf })
  const readAhead = new LRUCache<string, Payload>({ max: MAX_READ_AHEAD })

  /** Writes what was decided, and returns the keys that it did not apply to. */
  async function write(changes: readonly VersionedChange[], asOfMs: number): Promise<ReadonlySet<string>> {
    const refused = new Set<string>()
    try {
      const applied = await engine.write(changes, asOfMs)
      for (const [index, change] of changes.entries()) {
        const { key, version, after: record } = change
        if (applied[index] === true && record !== null) seen.set(key, { version, record })
        else seen.delete(key)
        if (applied[index] === true) onApplied?.(change)
        else refused.add(key)
      }
      return refused
    } catch (error) {
      // Each may have been written.
      for (const { key } of changes) seen.delete(key)
      throw error
    }
  }

  /** Reads what the decisions about these records need beside them. */
  async function readBeside(groups: ReadonlyMap<string, Group<Command>>, records: ReadonlyMap<string, Versioned>) {
    const listed = [...groups]
      .filter(([, group]) => group.some(({ command }) => traitsOf(command).reads === 'kept'))
      .map(([key]) => key)
    const ids = listed.length === 0 ? NONE : await engine.payloadIds(listed)
    const kept = new Map(listed.map((key, index) => [key, ids[index] ?? NONE]))
    const leased = [...groups].flatMap(([key, group]) => {
      const isLeased = group.some(({ command }) => traitsOf(command).reads === 'payload')
      const id = isLeased ? records.get(key)?.record.waiting[0]?.id : undefined
      return id === undefined ? [] : [{ key, id }]
    })
    const unread = leased.filter(({ key, id }) => readAhead.get(key)?.id !== id)
    const found = unread.length === 0 ? NONE : await engine.payloads(unread)
    const payloads = new Map(leased.map(({ key }) => [key, readAhead.get(key)]))
    for (const [index, { key }] of unread.entries()) payloads.set(key, found[index])
    for (const { key } of leased) readAhead.delete(key)
    return { kept, payloads }
  }

  async function run<C extends Command>(commands: readonly C[]): Promise<readonly AnswerOf<C>[]> {
    const answers: AnswerOf<C>[] = []
    let open = groupsOf(commands)
    /** The records as read in this call. Undefined before the first read. */
    let read: ReadonlyMap<string, Versioned> | undefined
    const endMs = monotonicMs() + MAX_CONFLICT_MS
    while (open.size > 0) {
      const asOfMs = engine.nowMs()
      const records = read ?? seenOf(open.keys())
      const beside = await readBeside(open, records)
      const again = new Map<string, Group<C>>()
      const changes: VersionedChange[] = []
      for (const [key, group] of open) {
        const circumstances = {
          ...about(),
          nowMs: asOfMs,
          worker: workerFor(key),
          isFull: false,
          kept: beside.kept.get(key) ?? NONE,
          payload: beside.payloads.get(key),
        }
        const known = records.get(key)
        const change = fold(group, known?.record, circumstances, answers)
        if (change !== undefined) changes.push({ ...change, key, expected: known?.version, version: newVersion() })
        // Without a write, a stale record would go unnoticed: read it first.
        else if (read === undefined) again.set(key, group)
      }
      // All writers use one order, so that no two writes deadlock.
      changes.sort((a, b) => (a.key < b.key ? -1 : 1))
      const refused = changes.length === 0 ? new Set<string>() : await write(changes, asOfMs)
      for (const key of refused) {
        const group = open.get(key)
        if (group !== undefined) again.set(key, group)
      }
      open = again
      if (open.size === 0) break
      if (monotonicMs() > endMs)
        throw new MessagingWebhooksError('store_slow', 'Other processes keep writing the same messages.')
      read = await engine.read([...open.keys()])
      for (const [key, versioned] of read) seen.set(key, versioned)
      for (const { key, after } of changes)
        if (refused.has(key) && isSameLease(after?.lease, read.get(key)?.record.lease)) onLeaseLost?.()
    }
    return answers
  }

  function seenOf(keys: Iterable<string>): ReadonlyMap<string, Versioned> {
    const found = new Map<string, Versioned>()
    for (const key of keys) {
      const versioned = seen.get(key)
      if (versioned !== undefined) found.set(key, versioned)
    }
    return found
  }

  return {
    run,
    /** `due` of the engine. Remembers the records and payloads that it has read. */
    async due(lookup: DueLookup) {
      const { keys, nextMs, found, payloads } = await engine.due(lookup)
      for (const [key, versioned] of found ?? NONE) seen.set(key, versioned)
      for (const [key, payload] of payloads ?? NONE) readAhead.set(key, payload)
      return { keys, nextMs }
    },
    /** Drops the cached record, because another connection has changed it. */
    forget: (key: string): void => void seen.delete(key),
  }
}

/** Commands for one message, with their places among all. */
type Group<C extends Command> = readonly { readonly place: number; readonly command: C }[]

function groupsOf<C extends Command>(commands: readonly C[]): ReadonlyMap<string, Group<C>> {
  const placed = commands.map((command, place) => ({ place, command }))
  return Map.groupBy(placed, ({ command }) => command.key)
}

/** Decides the commands of one message in order, and enters their answers. Undefined if nothing changes. */
function fold<C extends Command>(
  group: Group<C>,
  before: MessageRecord | undefined,
  circumstances: Circumstances,
  answers: AnswerOf<C>[],
) {
  let after: MessageRecord | null | undefined
  let payloads: readonly PayloadChange[] = NONE
  for (const { place, command } of group) {
    const decided = decide(after === undefined ? before : (after ?? undefined), command, circumstances)
    answers[place] = decided.answer
    if (decided.record === undefined) {
      after ??= replacing(before, command)
      continue
    }
    after = decided.record
    payloads = [...payloads, ...(decided.payloads ?? NONE)]
  }
  return after === undefined ? undefined : { before, after, payloads }
}

function isSameLease(wanted: Lease | undefined, stored: Lease | undefined): boolean {
  return wanted !== undefined && wanted.worker === stored?.worker && wanted.token === stored.token
}

const VERSION_BYTES = 9

/**
 * Random, because two histories of one message must never reach the same version: after a failover to a standby that lacks the
 * last commits, a process with the old history in its cache would overwrite the new one.
 */
function newVersion(): string {
  if (usedBytes === random.length) {
    random = randomBytes(RANDOM_BYTES)
    usedBytes = 0
  }
  return random.toString('base64url', usedBytes, (usedBytes += VERSION_BYTES))
}

/** Asking the system for so few bytes takes longer than the rest of a decision, so ask for several versions at once. */
const RANDOM_BYTES = 512 * VERSION_BYTES
let random = Buffer.alloc(0)
let usedBytes = 0

function sizeOf({ record: { waiting, dead, settled } }: Versioned): number {
  return 1 + waiting.length + dead.length + settled.length
}
