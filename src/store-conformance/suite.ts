/** Options of the suite, the fixture of its tests, and the steps that many of them take. */
import assert from 'node:assert/strict'
import type { MessagingWebhooksError } from '../public/errors.ts'
import { everyPage } from '../inbox/lists.ts'
import type { Awaitable, ItemOf, MessageStore, Query, Store, StoreCapabilities, StoreHost } from '../inbox/store.ts'
import type { Claim } from '../dispatch/claim.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { MessageRecord } from '../messages/record.ts'
import { monotonicMs, systemClock } from '../runtime/clock.ts'
import { admit, claim, DEAD, settleAll } from './samples.ts'

/** A fresh, empty store for one test. */
export interface StoreUnderTest {
  readonly store: Store<object>
  /** Called after the test. The suite closes the stores that it opened. */
  readonly dispose?: () => Awaitable<void>
}

/** How long the store keeps data, as its options say it. */
export interface RetentionDays {
  readonly retentionDays?: number
  readonly deadLetterDays?: number
  readonly dedupeDays?: number
}

/** Options of `storeConformance`. */
export interface ConformanceOptions {
  /** The `test` function of the runner: vitest, node:test, jest, ... */
  readonly test: (name: string, run: () => Promise<void>) => void
  /** Called for each test that does not apply, with the reason. Default: prints both. */
  readonly skip?: ((name: string, reason: string) => void) | undefined
  /** A fresh, empty store for each test, with these periods of retention. The tests of retention pass parts of a second. */
  readonly makeStore: (retention: RetentionDays) => Awaitable<StoreUnderTest>
  /** The capabilities that the store declares. */
  readonly capabilities: StoreCapabilities
  /**
   * Optional parts that the store does not implement: `retention`, `workers`. Default none. A store that is not shared needs no
   * workers.
   */
  readonly leavesOut?: readonly MayLeaveOut[] | undefined
  /** Number of random interleavings. Default 100. */
  readonly interleavings?: number | undefined
}

/** Optional parts. Each has a concern of its name. */
export const MAY_LEAVE_OUT = ['retention', 'workers'] as const

type MayLeaveOut = (typeof MAY_LEAVE_OUT)[number]

export interface ConformanceCase {
  readonly name: string
  readonly retention?: RetentionDays
  readonly run: (fixture: Fixture) => Promise<void>
}

export interface Fixture {
  readonly capabilities: StoreCapabilities
  readonly open: MessageStore<object>
  /** Opens the same store again, like another process. */
  readonly openAnother: () => Promise<MessageStore<object>>
  /** Stores that are still open are closed at the end of the test. */
  readonly close: (one: MessageStore<object>) => Promise<void>
  /** Closes and reopens the store, like a restart. */
  readonly reopen: () => Promise<MessageStore<object>>
  /** Number of `onWork` calls. */
  readonly onWorkCalls: () => number
}

/** Runs one test on a fresh store, and closes it in any case. */
export async function runOnFreshStore(
  { makeStore }: Pick<ConformanceOptions, 'makeStore'>,
  { retention = {}, run }: Pick<ConformanceCase, 'retention' | 'run'>,
): Promise<void> {
  const { store, dispose } = await makeStore(retention)
  const reports: MessagingWebhooksError[] = []
  let onWorkCalls = 0
  const host: StoreHost = {
    nowMs: systemClock().now,
    wallMs: systemClock().now,
    elapsedMs: monotonicMs,
    onWork: () => void (onWorkCalls += 1),
    report: (error) => void reports.push(error),
    onLost: () => {},
    // Every lease of a test is in flight, so no store takes one back.
    inFlight: () => 1,
    claims: true,
  }
  const opened = new Set<MessageStore<object>>()
  async function openOne(): Promise<MessageStore<object>> {
    const one = await store.open(host)
    opened.add(one)
    return one
  }
  async function close(one: MessageStore<object>): Promise<void> {
    opened.delete(one)
    await one.close()
  }
  let open = await openOne()
  const { capabilities } = store
  async function reopen(): Promise<MessageStore<object>> {
    await close(open)
    return (open = await openOne())
  }
  try {
    await run({ capabilities, open, openAnother: openOne, close, reopen, onWorkCalls: () => onWorkCalls })
    assert.deepEqual(reports, [], 'the store reported no problem')
  } finally {
    for (const each of opened) await each.close()
    await dispose?.()
  }
}

/** Claims the only event that is due. The estimates of the server's clock by two processes may differ by some milliseconds. */
export async function claimOne(open: MessageStore<object>): Promise<Claim> {
  const claims: Claim[] = []
  await until('an event is due', async () => claims.push(...(await claim(open)).claims) > 0)
  const [claimed] = claims
  assert.ok(claimed !== undefined && claims.length === 1, `one event is due, not ${claims.length}`)
  return claimed
}

/** Fails a test with a list that never ends. */
const MAX_PAGES = 10_000

/** A whole list, by pages of this size. */
export async function itemsOf<Q extends Query>(open: MessageStore<object>, query: Q): Promise<readonly ItemOf<Q>[]> {
  const items: ItemOf<Q>[] = []
  let pages = 0
  for await (const page of everyPage(async (after) => open.scan<Q>({ ...query, after }))) {
    assert.ok(query.of === 'kept' || page.items.length <= query.limit, 'no page is longer than its limit')
    assert.ok((pages += 1) < MAX_PAGES, 'the list has an end')
    items.push(...page.items)
  }
  return items
}

/** The first page of a list, of the usual size. */
export const PAGE = { after: undefined, limit: 100 } as const

export async function recordOf(open: MessageStore<object>, key: string): Promise<MessageRecord | undefined> {
  const [record] = await open.run([{ do: 'read', key }])
  return record
}

/** Admits these events and makes them dead letters; of one message only the first. */
export async function die(open: MessageStore<object>, events: readonly NewEvent[]): Promise<void> {
  await admit(open, events)
  await settleAll(open, (await claim(open)).claims, DEAD)
}

const LOOK_MS = 20
const LOOKS = 750

export async function passed(ms: number): Promise<void> {
  await new Promise<void>((resolve) => void systemClock().setTimer(resolve, ms, true))
}

/** Waits for an asynchronous effect, long enough for a busy machine. */
export async function until(what: string, isTrue: () => Awaitable<boolean>): Promise<void> {
  for (let looks = 0; looks < LOOKS; looks += 1) {
    if (await isTrue()) return
    await passed(LOOK_MS)
  }
  assert.fail(what)
}
