/** Stores that outlive a receiver, or fail on request. */
import { memoryStore, type Store } from 'messaging-webhooks'
import type { AnswerOf, Awaitable, Command, MessageStore, NewEvent, StoreHost } from 'messaging-webhooks/store'
import { storeAround, type Around } from './store-around.ts'

type CommandName = Command['do']
type CommandsOf<Name extends CommandName> = readonly Extract<Command, { readonly do: Name }>[]
type AnswersOf<Name extends CommandName> = readonly AnswerOf<Extract<Command, { readonly do: Name }>>[]

/** The host of a store that a test opens itself: silent, and by the clock of the machine. */
export function hostOf(some: Partial<StoreHost> = {}): StoreHost {
  return {
    nowMs: () => Date.now(),
    wallMs: some.nowMs ?? (() => Date.now()),
    elapsedMs: () => performance.now(),
    onWork() {},
    report() {},
    onLost() {},
    inFlight: () => undefined,
    claims: true,
    ...some,
  }
}

/** The state of a `leasingStore`, which a test sets or reads. */
interface Leasing {
  /** The number of admissions with and without a lease asked for, and of searches for due events. */
  readonly calls: { admit: number; leasing: number; due: number }
  /** The number of events that were leased on admission. */
  leased: number
  /** For each settlement, whether it was deferrable. */
  readonly deferrable: boolean[]
  /** The outcomes of the settlements. */
  readonly outcomes: string[]
  readonly transactions: { begun: number; ended: number }
  /** Awaited before a transaction begins. */
  beforeTransaction: (() => Promise<void>) | undefined
  /** The events of the admissions that asked for leases. */
  readonly seen: NewEvent[]
  /** The underlying store, as another process has it. */
  elsewhere: MessageStore | undefined
  /** Awaited before an admission that asks for leases; if it rejects, nothing is admitted. */
  before: (() => Promise<void>) | undefined
  /** Awaited after an admission that asked for leases; delays the answer. */
  after: (() => Promise<void>) | undefined
}

export function newLeasing(): Leasing {
  return {
    calls: { admit: 0, leasing: 0, due: 0 },
    leased: 0,
    deferrable: [],
    outcomes: [],
    transactions: { begun: 0, ended: 0 },
    beforeTransaction: undefined,
    seen: [],
    elsewhere: undefined,
    before: undefined,
    after: undefined,
  }
}

/**
 * A store in memory that answers later, as one behind a network does, and does not notify, because others may have admitted an
 * event. `durable`: as if on a disk. `gives`: as if it gave handlers a transaction.
 */
export function leasingStore(leasing: Leasing, { durable = false, gives = false } = {}): Store {
  const inner = memoryStore()
  const around: Around = {
    async run(commands, go, deferrable = false) {
      const admits = commands.filter((command) => command.do === 'admit')
      const isLeasing = admits.some(({ leaseForMs }) => leaseForMs !== undefined)
      if (admits.length > 0) leasing.calls[isLeasing ? 'leasing' : 'admit'] += 1
      for (const command of commands) if (command.do === 'settle') settling(leasing, command.outcome, deferrable)
      if (!isLeasing) return go()
      await leasing.before?.()
      const answers = await go()
      leasing.leased += answers.filter((answer) => hasLease(answer)).length
      leasing.seen.push(...admits.map(({ event }) => event))
      await leasing.after?.()
      return answers
    },
    async due({ of }, go) {
      if (of === 'events') leasing.calls.due += 1
      return go()
    },
  }
  const change = (memory: MessageStore): Partial<MessageStore> => {
    leasing.elsewhere = memory
    return gives ? { transactions: transactionsOf(memory, leasing) } : {}
  }
  const quiet = (host: StoreHost): StoreHost => ({ ...host, onWork() {} })
  return {
    ...storeAround(inner, around, change, quiet),
    capabilities: { ...inner.capabilities, durable },
  }
}

function hasLease(answer: AnswerOf<Command>): boolean {
  return typeof answer === 'object' && 'granted' in answer && answer.granted !== undefined
}

function settling(leasing: Leasing, outcome: string, deferrable: boolean): void {
  leasing.outcomes.push(outcome)
  leasing.deferrable.push(deferrable)
}

function transactionsOf(memory: MessageStore, leasing: Leasing): MessageStore['transactions'] {
  return {
    most: Infinity,
    async begin() {
      leasing.transactions.begun += 1
      await leasing.beforeTransaction?.()
      return {
        context: {},
        async commit(settlement) {
          leasing.transactions.ended += 1
          settling(leasing, settlement.outcome, false)
          const [settled = { held: false, nextInMs: undefined }] = await memory.run([settlement])
          return settled
        },
        rollBack() {
          leasing.transactions.ended += 1
          return Promise.resolve()
        },
      }
    },
  }
}

/** A store in memory that several receivers share, one after another or at once. It has the clock of the last one. */
export async function lastingStore(): Promise<Store> {
  let nowMs = (): number => Date.now()
  const lasting = await memoryStore().open(hostOf({ nowMs: () => nowMs() }))
  return {
    capabilities: { name: 'lasting memory', durable: true, shared: true },
    open(host) {
      nowMs = host.nowMs
      return { ...lasting, close() {} }
    },
  }
}

/** Replacements by the name of a command, for calls with such commands; `go` makes the call. */
type Replaced = {
  -readonly [Name in CommandName]?: (
    commands: CommandsOf<Name>,
    go: () => Awaitable<AnswersOf<Name>>,
  ) => Awaitable<AnswersOf<Name>>
}

/** What a test replaces, and may change at any time. */
export interface Broken extends Replaced {
  due?: Around['due']
  counts?: Around['counts']
}

/** A store in memory whose operations a test can replace, one by one. */
export function brokenStore(broken: Broken): Store {
  return storeAround(memoryStore(), {
    run(commands, go) {
      const [first] = commands
      // Commands of one call have one name, so these are of the name that it replaces.
      const replaced = first && (broken[first.do] as Around['run'])
      return replaced === undefined ? go() : replaced(commands, go, undefined)
    },
    due: (request, go) => (broken.due === undefined ? go() : broken.due(request, go)),
    counts: (go) => (broken.counts === undefined ? go() : broken.counts(go)),
  })
}

/**
 * Refuses admissions that ask for a lease. The receiver tries again without, so that a claim leases the event. `brokenStore` takes
 * it as `admit`.
 */
export function withoutLeases(
  commands: CommandsOf<'admit'>,
  go: () => Awaitable<AnswersOf<'admit'>>,
): Awaitable<AnswersOf<'admit'>> {
  if (commands.some(({ leaseForMs }) => leaseForMs !== undefined)) throw new Error('No lease with an admission.')
  return go()
}

/** A slow store in memory, like one behind a socket. */
export function slowStore(ms = 1): Store {
  const later = async <T>(go: () => Awaitable<T>): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return go()
  }
  return storeAround(memoryStore(), { run: (_, go) => later(go), due: (_, go) => later(go) })
}
