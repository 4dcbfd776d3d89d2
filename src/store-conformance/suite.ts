/** What a conformance test is given, and how it is told to a test runner. */
import type { Awaitable, OpenStore, Store, StoreCapabilities } from '../inbox/store.ts'

/** A fresh, empty store for one test. */
export interface StoreUnderTest {
  readonly store: Store<object>
  /** Called when the test is over; closes nothing that the suite has opened itself. */
  readonly dispose?: () => Awaitable<void>
}

export interface ConformanceOptions {
  /** The runner's own: `test` of vitest, node:test, jest, ... */
  readonly test: (name: string, run: () => Promise<void>) => void
  /** Called for each test that does not apply, with the reason. Default: prints both. */
  readonly skip?: (name: string, reason: string) => void
  readonly makeStore: () => Awaitable<StoreUnderTest>
  /** What the store says of itself. */
  readonly capabilities: StoreCapabilities
  /** How many random interleavings are tried. Default 100. */
  readonly interleavings?: number
}

/** What a store must be able to do for a test to apply. */
export type Need = 'durable' | 'told times' | 'admitAndClaim'

/** One test: gets an open store, and opens it anew where it asks for it. */
export interface ConformanceCase {
  readonly name: string
  /** What the store must be able to do for this to apply. */
  readonly needs?: Need
  readonly run: (fixture: Fixture) => Promise<void>
}

export interface Fixture {
  readonly capabilities: StoreCapabilities
  readonly open: OpenStore<object>
  /** Closes the store and opens it again, as a restart does. */
  readonly reopen: () => Promise<OpenStore<object>>
}

/** Runs one case on a fresh store, and leaves nothing open whatever happens. */
export async function runOnFreshStore(
  makeStore: ConformanceOptions['makeStore'],
  run: ConformanceCase['run'],
): Promise<void> {
  const { store, dispose } = await makeStore()
  const host = { onWork() {} }
  let open = await store.open(host)
  const fixture: Fixture = {
    capabilities: store.capabilities,
    get open() {
      return open
    },
    async reopen() {
      await open.close()
      open = await store.open(host)
      return open
    },
  }
  try {
    await run(fixture)
  } finally {
    await open.close()
    await dispose?.()
  }
}
