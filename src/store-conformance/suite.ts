/** Options of the suite, the fixture of its tests, and the steps that many of them take. */
import assert from 'node:assert/strict'
import type { MessagingWebhooksError } from '../public/errors.ts'
import type {
  Awaitable,
  OpenStore,
  Store,
  StoreCapabilities,
  Claim,
  ClaimRequest,
  NewEvent,
  StoredDeadLetter,
} from '../inbox/store.ts'
import { systemClock } from '../runtime/clock.ts'
import { admit, allOf, claim, namesOf, settlementOf, START_MS, type Outcome } from './samples.ts'

/** A fresh, empty store for one test. */
export interface StoreUnderTest {
  readonly store: Store<object>
  /** Called after the test. The suite closes the stores that it opened. */
  readonly dispose?: () => Awaitable<void>
}

/** Options of `storeConformance`. */
export interface ConformanceOptions {
  /** The `test` function of the runner: vitest, node:test, jest, ... */
  readonly test: (name: string, run: () => Promise<void>) => void
  /** Called for each test that does not apply, with the reason. Default: prints both. */
  readonly skip?: ((name: string, reason: string) => void) | undefined
  /** A fresh, empty store for each test. */
  readonly makeStore: () => Awaitable<StoreUnderTest>
  /** The capabilities that the store declares. */
  readonly capabilities: StoreCapabilities
  /**
   * Optional parts that the store does not implement: `sends`, `workers`. Default none. A store that is not shared needs no
   * workers.
   */
  readonly leavesOut?: readonly MayLeaveOut[] | undefined
  /** Number of random interleavings. Default 100. */
  readonly interleavings?: number | undefined
}

/** Optional parts: sends, and the list of workers that share the store. Each has a concern of its name. */
export const MAY_LEAVE_OUT = ['sends', 'workers'] as const

type MayLeaveOut = (typeof MAY_LEAVE_OUT)[number]

export interface ConformanceCase {
  readonly name: string
  readonly run: (fixture: Fixture) => Promise<void>
}

export interface Fixture {
  readonly capabilities: StoreCapabilities
  readonly open: OpenStore<object>
  /** Opens the same store again, like another process. */
  readonly openAnother: () => Promise<OpenStore<object>>
  /** Stores that are still open are closed at the end of the test. */
  readonly close: (one: OpenStore<object>) => Promise<void>
  /** Closes and reopens the store, like a restart. */
  readonly reopen: () => Promise<OpenStore<object>>
  /** Number of `onWork` calls. */
  readonly onWorkCalls: () => number
  /** Errors that the store reported. */
  readonly reports: readonly MessagingWebhooksError[]
}

/** Runs one test on a fresh store, and closes it in any case. */
export async function runOnFreshStore(
  makeStore: ConformanceOptions['makeStore'],
  run: ConformanceCase['run'],
): Promise<void> {
  const { store, dispose } = await makeStore()
  const reports: MessagingWebhooksError[] = []
  let onWorkCalls = 0
  const host = {
    onWork: () => void (onWorkCalls += 1),
    report: (error: MessagingWebhooksError) => void reports.push(error),
  }
  const opened = new Set<OpenStore<object>>()
  async function openOne(): Promise<OpenStore<object>> {
    const one = await store.open(host)
    opened.add(one)
    return one
  }
  async function close(one: OpenStore<object>): Promise<void> {
    opened.delete(one)
    await one.close()
  }
  let open = await openOne()
  const fixture: Fixture = {
    capabilities: store.capabilities,
    open,
    openAnother: openOne,
    close,
    async reopen() {
      await close(open)
      return (open = await openOne())
    },
    onWorkCalls: () => onWorkCalls,
    reports,
  }
  try {
    await run(fixture)
  } finally {
    for (const each of opened) await each.close()
    await dispose?.()
  }
}

export const DONE = { outcome: 'done' } as const
export const DEAD = { outcome: 'dead', error: 'the reason' } as const

/** Claims, and returns the names. */
export async function claimNames(open: OpenStore<object>, request: Partial<ClaimRequest> = {}) {
  return namesOf((await claim(open, request)).claims)
}

/** Claims the only due event. */
export async function claimOne(open: OpenStore<object>, request: Partial<ClaimRequest> = {}): Promise<Claim> {
  const { claims } = await claim(open, request)
  const [claimed] = claims
  assert.ok(claimed !== undefined && claims.length === 1, `one event is due, not ${claims.length}`)
  return claimed
}

/** Settles each claim with this outcome. Returns whether each lease still held. */
export async function settleAll(
  open: OpenStore<object>,
  claims: readonly Claim[],
  outcome: Outcome = DONE,
  nowMs = START_MS,
) {
  return open.settle(
    claims.map((claimed) => settlementOf(claimed, outcome)),
    nowMs,
  )
}

export async function deadLettersOf(open: OpenStore<object>, limit = 100): Promise<readonly StoredDeadLetter[]> {
  return allOf((after) => open.deadLetters({ after, limit }))
}

/** Admits these events and makes them dead letters; of one message only the first. */
export async function die(open: OpenStore<object>, events: readonly NewEvent[], nowMs = START_MS): Promise<void> {
  await admit(open, events, nowMs)
  await settleAll(open, (await claim(open, { nowMs })).claims, DEAD, nowMs)
}

const LOOK_MS = 5
const LOOKS = 2_000

/** Waits for an asynchronous effect, long enough for a busy machine. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let looks = 0; looks < LOOKS && !isTrue(); looks += 1)
    await new Promise<void>((resolve) => void systemClock().setTimer(resolve, LOOK_MS, true))
  assert.ok(isTrue(), what)
}
