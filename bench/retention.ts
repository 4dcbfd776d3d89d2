/**
 * Does a store become slower with what it keeps? Measures each operation beside an almost empty store of the same engine: the
 * CPU time of this process and of the server, per item. The large store has MESSAGES (10,000,000) settled messages of the last
 * six days. In memory and SQLite, both have 2,000 that are past their retention; the clock of a server cannot be set.
 *
 *     MESSAGES=1000000 STORES=sqlite,postgres npm run bench:retention     # also mysql, redis
 *     npx node --max-old-space-size=12000 bench/retention.ts memory
 *
 * Redis uses its databases 14 and 15, which must be empty.
 */
import { performance } from 'node:perf_hooks'
import type { MessageStore, NewEvent } from 'messaging-webhooks/store'
import { pruneStep } from '../src/inbox/pruning.ts'
import { admit } from '../src/store-conformance/samples.ts'
import { chosenStores } from './contenders/shared.ts'
import { settleDue } from './database/calls.ts'
import { smsReport } from './database/events.ts'
import { openEngine, type EngineName, type OpenEngine } from './database/retention-engines.ts'

const MESSAGES = Number(process.env['MESSAGES'] ?? 10_000_000)
const NAMES = process.argv[2] === 'memory' ? (['memory'] as const) : chosenStores()
const ORIGINALS = 1_000
const EXPIRED = 2_000
const BATCH = 50
const ROUNDS = 7
const DAY_MS = 86_400_000
/** Operations run so much later, so that what was admitted first is past its retention. */
const LATER_MS = 60 * DAY_MS
/** Long enough for the statistics of a server, which count in hundredths of a second. */
const MEASURED_MS = 1_000
/** So that the small store stays small. */
const MAX_ITEMS = 5_000

let made = 0
const reports = (count: number, atMs: number): readonly NewEvent[] =>
  Array.from({ length: count }, () => smsReport(`m${(made += 1)}`, 1, atMs, true))

/** Admits and settles messages at equal intervals between two times. */
async function fill({ open, setLater }: OpenEngine, count: number, fromMs: number, toMs: number): Promise<void> {
  const steps = count / BATCH
  for (let step = 0; step < steps; step += 1) {
    setLater?.(Math.round(fromMs + ((toMs - fromMs) * step) / steps))
    await admit(open, reports(BATCH, Date.now()))
    while ((await settleDue(open, BATCH)) > 0);
  }
}

/** Each returns the number of items it worked on. */
type Operation = (open: MessageStore<object>) => Promise<number>

const admitted = new WeakMap<MessageStore<object>, (readonly NewEvent[])[]>()

const OPERATIONS: Readonly<Record<string, Operation>> = {
  async admit(open) {
    const batch = reports(BATCH, Date.now())
    await admit(open, batch)
    admitted.set(open, [...(admitted.get(open) ?? []), batch])
    return BATCH
  },
  async 'admit again'(open) {
    const batches = admitted.get(open) ?? []
    const batch = batches[made % batches.length] ?? []
    made += 1
    const answers = await admit(open, batch)
    if (answers.some((answer) => answer !== 'duplicate')) throw new Error('A known event was admitted again.')
    return BATCH
  },
  'lease and settle': (open) => settleDue(open, BATCH),
  async 'first page'(open) {
    const { items } = await open.scan({ of: 'events', after: undefined, limit: BATCH })
    if (items.length !== BATCH) throw new Error(`The first page has ${items.length} events.`)
    await open.scan({ of: 'deadLetters', after: undefined, limit: BATCH })
    await open.counts()
    return 1
  },
  async scan(open) {
    const { items } = await open.scan({ of: 'kept', after: undefined, limit: 200 })
    return items.length
  },
  expire: pruneStep,
}

interface Cost {
  readonly own: number
  readonly server: number
}

/** CPU time per item in µs; undefined if there was nothing to work on. Stops once nothing is left to do. */
async function costOf({ open, serverCpuMs }: OpenEngine, operation: Operation): Promise<Cost | undefined> {
  const [own, server, endMs] = [process.cpuUsage(), await serverCpuMs(), performance.now() + MEASURED_MS]
  let items = 0
  for (;;) {
    const count = await operation(open)
    items += count
    if (count === 0 || items >= MAX_ITEMS || performance.now() > endMs) break
  }
  const { user, system } = process.cpuUsage(own)
  if (items === 0) return undefined
  return { own: (user + system) / items, server: ((await serverCpuMs()) - server) / (items / 1_000) }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}

async function measure(name: EngineName): Promise<void> {
  const [small, large] = [await openEngine(name, 'small'), await openEngine(name, 'large')]
  try {
    for (const engine of [small, large]) {
      if (engine.setLater !== undefined) await fill(engine, EXPIRED, 0, DAY_MS)
      await fill(engine, ORIGINALS, LATER_MS - 6 * DAY_MS, LATER_MS)
    }
    const beganMs = performance.now()
    if (large.copy === undefined) await fill(large, MESSAGES, LATER_MS, LATER_MS)
    else {
      const copies = Math.floor(MESSAGES / ORIGINALS)
      const fromMs = Date.now() + (large.setLater === undefined ? 0 : LATER_MS) - 6 * DAY_MS
      await large.copy({ originals: ORIGINALS, copies, fromMs, gapMs: Math.floor((6 * DAY_MS) / (copies + 1)) })
    }
    console.error(`${name}: filled in ${((performance.now() - beganMs) / 1_000).toFixed(0)} s`)
    for (const [title, operation] of Object.entries(OPERATIONS)) {
      const costs: (readonly [small: Cost, large: Cost])[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        const [one, other] = [await costOf(small, operation), await costOf(large, operation)]
        if (one !== undefined && other !== undefined) costs.push([one, other])
      }
      const figure = (of: (pair: readonly [Cost, Cost]) => number): string => median(costs.map(of)).toFixed(2)
      const ratio = figure(([one, other]) => (other.own + other.server) / (one.own + one.server))
      const both = (at: 0 | 1): string => `${figure((pair) => pair[at].own)} + ${figure((pair) => pair[at].server)}`
      console.log(`| ${name} | ${title} | ${both(0)} | ${both(1)} | ${ratio} |`)
    }
  } finally {
    await small.close()
    await large.close()
  }
}

console.log(
  `| store | operation | small: µs here + in the server | ${MESSAGES.toLocaleString('en')} messages | ratio |`,
)
console.log('| --- | --- | --- | --- | --- |')
for (const name of NAMES) await measure(name)
