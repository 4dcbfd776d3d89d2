/** What a test of the suite gets, and how the suite is told of a store. */
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { Awaitable, OpenStore, Store, StoreCapabilities } from '../inbox/store.ts'

/** When an event is corrupted. */
export type DamageMoment = 'while it waits' | 'before a restart' | 'while leased' | 'once settled' | 'once dead'

/** The event that is corrupted, and its message. */
export interface DamageTarget {
  readonly id: string
  readonly messageKey: string
}

/** A stored field, and what another tool, a failing disk or a newer version makes of it. */
export interface Damage {
  /** Such as `events.record: not JSON`. */
  readonly name: string
  /**
   * What is left of a waiting event: `whole`, it is dispatched as it was; `part`, it becomes a dead letter that keeps its bytes;
   * `less`, a dead letter without them; `nothing`, no trace of it; `either`, it is dispatched or becomes a dead letter.
   */
  readonly leaves: 'whole' | 'part' | 'less' | 'nothing' | 'either'
  /** When there is such a field to corrupt. Default: at each moment. */
  readonly at?: readonly DamageMoment[] | undefined
  /** What orders the rest of its message is lost, so it need not come in order. */
  readonly scatters?: true
}

/** A fresh, empty store for one test. */
export interface StoreUnderTest {
  readonly store: Store<object>
  /** Called when the test is over. The suite closes what it opened. */
  readonly dispose?: () => Awaitable<void>
  /** Does the damage of that name to this event or its message, without the open store. */
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
  /** What can be corrupted, each field in each way; undefined for a store whose data nothing else can reach. */
  readonly damages?: readonly Damage[] | undefined
  /** What the store leaves out: `sends`, `workers`. Default none; a store that is not shared needs no workers. */
  readonly leavesOut?: readonly MayLeaveOut[] | undefined
  /** How many random interleavings are tried. Default 100. */
  readonly interleavings?: number | undefined
}

/** What a store may leave out: to remember what was sent, and to know the processes that share it. */
export const MAY_LEAVE_OUT = ['sends', 'workers'] as const

type MayLeaveOut = (typeof MAY_LEAVE_OUT)[number]

export interface ConformanceCase {
  readonly name: string
  /** Does not apply to a store that leaves this out. */
  readonly needs?: MayLeaveOut
  readonly run: (fixture: Fixture) => Promise<void>
}

export interface Fixture {
  readonly capabilities: StoreCapabilities
  readonly open: OpenStore<object>
  /** Opens the same store once more, as another process does. */
  readonly openAnother: () => Promise<OpenStore<object>>
  /** What is still open at the end of the test is closed then. */
  readonly close: (one: OpenStore<object>) => Promise<void>
  /** Closes the store and opens it again, as a restart does. */
  readonly reopen: () => Promise<OpenStore<object>>
  /** How often the store has said that there is work. */
  readonly timesTold: () => number
  /** What the store has reported. */
  readonly reports: readonly MessagingWebhooksError[]
  /** See `StoreUnderTest`. */
  readonly damage: (name: string, target: DamageTarget) => Promise<void>
}

/** Runs one test on a fresh store, and closes it whatever happens. */
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
    for (const each of opened) await each.close()
    await dispose?.()
  }
}
