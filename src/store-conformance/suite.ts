/** What a conformance test is given, and how it is told to a test runner. */
import type { MessagingWebhooksError } from '../errors.ts'
import type { Awaitable, OpenStore, Store, StoreCapabilities } from '../inbox/store.ts'

/** When an event is spoilt. */
export type DamageMoment = 'while it waits' | 'before a restart' | 'while leased' | 'once settled' | 'once dead'

/** Which event is to be spoilt, or whose message. */
export interface DamageTarget {
  readonly id: string
  readonly messageKey: string
}

/** A field of what the store keeps, and what another tool, a failing disk or a newer version makes of it. */
export interface Damage {
  /** Such as `events.record: not JSON`. */
  readonly name: string
  /**
   * What is left of an event that waits: `whole`, it is handed over as it was; `part`, it becomes a dead letter with the bytes
   * that it came with; `less`, a dead letter without them; `nothing`, no trace of it; `either`, handed over or a dead letter.
   */
  readonly leaves: 'whole' | 'part' | 'less' | 'nothing' | 'either'
  /** When there is such a field to spoil. Default: at each moment. */
  readonly at?: readonly DamageMoment[] | undefined
  /** Nothing tells any more that the rest of its message belongs together, so it need not come in order. */
  readonly scatters?: true
}

/** A fresh, empty store for one test. */
export interface StoreUnderTest {
  readonly store: Store<object>
  /** Called when the test is over; closes nothing that the suite has opened itself. */
  readonly dispose?: () => Awaitable<void>
  /** Does, around the open store, the damage of that name to this event or its message. */
  readonly damage?: (name: string, target: DamageTarget) => Awaitable<void>
}

/** What `storeConformance` takes. */
export interface ConformanceOptions {
  /** The runner's own: `test` of vitest, node:test, jest, ... */
  readonly test: (name: string, run: () => Promise<void>) => void
  /** Called for each test that does not apply, with the reason. Default: prints both. */
  readonly skip?: ((name: string, reason: string) => void) | undefined
  /** A fresh, empty store for each test. */
  readonly makeStore: () => Awaitable<StoreUnderTest>
  /** What the store says of itself. */
  readonly capabilities: StoreCapabilities
  /** What can be spoilt behind the store's back, each field in each way; none for a store that nobody can reach. */
  readonly damages?: readonly Damage[] | undefined
  /** How many random interleavings are tried. Default 100. */
  readonly interleavings?: number | undefined
}

/** What a store must be able to do for a test to apply. */
export type Need =
  | 'durable'
  | 'told times'
  | 'admitAndClaim'
  | 'events'
  | 'holders'
  | 'forget'
  | 'lasting forget'
  | 'expect'
  | 'lasting expect'

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
  /** Opens the same store once more, as another process does; `leave` closes that one before the test is over. */
  readonly openAnother: () => Promise<{ readonly other: OpenStore<object>; readonly leave: () => Promise<void> }>
  /** Closes the store and opens it again, as a restart does. */
  readonly reopen: () => Promise<OpenStore<object>>
  /** How often the store has said that there is work. */
  readonly timesTold: () => number
  /** What the store has reported. */
  readonly reports: readonly MessagingWebhooksError[]
  /** Spoils something; see `StoreUnderTest`. */
  readonly damage: (name: string, target: DamageTarget) => Promise<void>
}

/** Runs one case on a fresh store, and leaves nothing open whatever happens. */
export async function runOnFreshStore(
  makeStore: ConformanceOptions['makeStore'],
  run: ConformanceCase['run'],
): Promise<void> {
  const under = await makeStore()
  const { store, dispose } = under
  const reports: MessagingWebhooksError[] = []
  let timesTold = 0
  const host = {
    onWork: () => void (timesTold += 1),
    report: (error: MessagingWebhooksError) => void reports.push(error),
  }
  let open = await store.open(host)
  const others = new Set<OpenStore<object>>()
  const fixture: Fixture = {
    capabilities: store.capabilities,
    get open() {
      return open
    },
    async openAnother() {
      const other = await store.open(host)
      others.add(other)
      return {
        other,
        async leave() {
          others.delete(other)
          await other.close()
        },
      }
    },
    async reopen() {
      await open.close()
      open = await store.open(host)
      return open
    },
    timesTold: () => timesTold,
    reports,
    async damage(name, target) {
      if (under.damage === undefined) throw new TypeError('`damages` are given, and `makeStore` gives no `damage`.')
      await under.damage(name, target)
    },
  }
  try {
    await run(fixture)
  } finally {
    for (const each of [...others, open]) await each.close()
    await dispose?.()
  }
}
