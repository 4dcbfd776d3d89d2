/** Options of the suite, and the fixture of its tests. */
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { Awaitable, OpenStore, Store, StoreCapabilities } from '../inbox/store.ts'

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

/** Optional parts: sends, and the list of workers that share the store. */
export const MAY_LEAVE_OUT = ['sends', 'workers'] as const

type MayLeaveOut = (typeof MAY_LEAVE_OUT)[number]

export interface ConformanceCase {
  readonly name: string
  /** Skipped if the store leaves this out. */
  readonly needs?: MayLeaveOut
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
