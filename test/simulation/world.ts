/** A world that runs a plan: processes that share a store, a disk and the time, until no work is left. */
import { steadyClock } from '../../src/runtime/clock.ts'
import type { MessagingWebhooksError } from '../../src/public/errors.ts'
import type { WebhookEvent } from '../../src/public/events.ts'
import type { MessageStore, StoreCapabilities, StoreHost } from '../../src/inbox/store.ts'
import type { LocalFile } from '../../src/local-file/local-file.ts'
import { BEGIN_SECONDS, eventOf, sameAs, type Callback } from './callbacks.ts'
import { createDisk } from './disk.ts'
import type { Engine, Times } from './engine.ts'
import { createLedger, type Broken, type Leasehold } from './ledger.ts'
import { createNetwork, type NetworkFaults } from './network.ts'
import type { Operation, Plan } from './plan.ts'
import { createProcess, type Process } from './process.ts'
import { between, randomOf } from './random.ts'
import { clockOf, createTimeline, type Owner } from './timeline.ts'

export interface Outcome {
  /** The first broken promise. */
  readonly broken: Broken | undefined
  readonly steps: number
  /** Equal for equal interleavings. */
  readonly hash: string
  readonly accepted: number
  readonly refused: number
  readonly handled: number
}

/** Replacements for real parts, with planted defects. */
export interface Defects {
  readonly file?: (file: LocalFile) => LocalFile
  /** Replaces parts of a process: its calls to settle, admit and other verbs. */
  readonly process?: (process: Process) => Process
}

interface WorldOptions {
  readonly plan: Plan
  /** `world`: the true time, for a server. */
  readonly engine: (world: Times) => Promise<Engine>
  /** Whether the store lives in its process and is called without a network. */
  readonly inProcess?: boolean
  readonly defects?: Defects
  readonly log?: (line: string) => void
}

const GAP_MS = 1_000
const HANDLER_TIMEOUT_MS = 5_000
const STORE_TIMEOUT_MS = 2_000
const ATTEMPTS = 4
/** A world with work left after this time counts as stuck. */
const LONGEST_REST_MS = 2 * 3_600_000
const MAX_STEPS = 150_000
const STEPS_A_LOOK = 20

const SLOW: ReadonlySet<Operation['kind']> = new Set(['slow', 'unavailable', 'lossy'])
/** Time for work after an answer, such as removing files. */
const AFTERWARDS_MS = 10_000
/** How long it takes until the others notice that a process has died. */
const DEATH_NOTICED_MS = 1_000

interface Place {
  readonly name: string
  owner: Owner
  process: Process | undefined
  starts: number
}

export async function runWorld(options: WorldOptions): Promise<Outcome> {
  const { plan } = options
  const realRandom = Math.random
  // Random numbers of the back-off; nothing else in here draws from them.
  Math.random = randomOf(plan.seed, 'back-off')
  try {
    return await live(options)
  } finally {
    Math.random = realRandom
  }
}

async function live(options: WorldOptions): Promise<Outcome> {
  const { plan, inProcess = false, defects = {} } = options
  const timeline = createTimeline(options.log)
  const ledger = createLedger()
  const disk = await createDisk(timeline)
  const faults: NetworkFaults = { isUnavailable: false, slowMs: 0, lossy: 0, poison: new Map() }
  const world: Owner = { name: 'world', alive: true, stoppedUntilMs: 0 }
  const handlerRandom = (id: string, attempt: number) => randomOf(plan.seed, `${id} ${attempt}`)
  let offsetMs = BEGIN_SECONDS * 1_000
  let refused = 0
  let healed = false
  let diskFaults = 0
  const wallMs = (): number => timeline.nowMs + offsetMs
  /** The time of a process that reads its clock constantly, so that it never goes back. */
  const ideal = steadyClock({ now: wallMs, setTimer: () => () => {}, soon() {} })
  const elapsedMs = (): number => timeline.nowMs
  const engine = await options.engine({ nowMs: () => ideal.now(), elapsedMs })
  const isSlow = plan.operations.some(({ kind }) => SLOW.has(kind))
  const hungEnds = new Set<() => void>()
  const capabilities: StoreCapabilities = {
    name: engine.name,
    durable: !inProcess,
    shared: !inProcess,
  }
  const places: Place[] = Array.from({ length: plan.processes }, (_, index) => ({
    name: `process ${index}`,
    owner: { name: `process ${index}`, alive: false, stoppedUntilMs: 0 },
    process: undefined,
    starts: 0,
  }))
  const notified = randomOf(plan.seed, 'notified')
  const connect = createNetwork({
    timeline,
    isInOrder: engine.isInOrder === true,
    ledger,
    faults,
    admitted(by) {
      for (const place of places)
        if (place.owner !== by && place.owner.alive && notified() < 0.9)
          timeline.after(between(notified, 0.1, 5), place.owner, 'notified', () => place.process?.wake())
    },
  })

  function start(place: Place): void {
    if (place.owner.alive) return
    place.starts += 1
    const name = `${place.name}.${place.starts}`
    const owner: Owner = { name, alive: true, stoppedUntilMs: 0 }
    const stream = (of: string) => randomOf(plan.seed, `${name} ${of}`)
    const network = stream('network')
    place.owner = owner
    const file = plan.spool ? disk.forProcess(owner, stream('disk')) : undefined
    const made = createProcess({
      clock: clockOf(timeline, owner, wallMs, stream('timers')),
      capabilities,
      elapsedMs,
      connect: (host) => openStore(owner, network, host),
      localFile: file !== undefined && defects.file !== undefined ? defects.file(file) : file,
      settings: {
        concurrency: plan.concurrency,
        handlerTimeoutMs: HANDLER_TIMEOUT_MS,
        storeTimeoutMs: STORE_TIMEOUT_MS,
        gapTimeoutMs: GAP_MS,
        attempts: ATTEMPTS,
      },
      report: (error) => reported(name, error),
      handler: (event, { attempt }, lease) => handle(owner, event, attempt, lease),
    })
    place.process = defects.process === undefined ? made : defects.process(made)
    place.process.start().catch(() => again(place, owner))
  }

  /** A supervisor restarts a process that could not start. */
  function again(place: Place, owner: Owner): void {
    timeline.after(1_000, owner, 'start again', () => {
      place.process?.start().catch(() => again(place, owner))
    })
  }

  async function openStore(owner: Owner, random: ReturnType<typeof randomOf>, host: StoreHost): Promise<MessageStore> {
    const own = ledger.watched(await engine.open(owner.name, host), owner.name)
    if (inProcess) return own
    const store = connect(own, owner, random)
    // A first call opens the connection.
    await store.counts()
    return store
  }

  function reported(name: string, error: MessagingWebhooksError): void {
    timeline.note(`${name} reports ${error.code}`)
    if (error.code === 'spool_damaged' && diskFaults === 0) ledger.breaks('the spool is whole', error.message)
  }

  function handle(owner: Owner, event: WebhookEvent, attempt: number, lease: Leasehold): unknown {
    const { id } = lease.granted
    const ended = ledger.started(owner.name, lease, event, ideal.now())
    timeline.note(`${owner.name} handles ${id} ${event.type}`)
    const random = handlerRandom(id, attempt)
    const throws = !healed && random() < plan.throwing
    const hangs = !healed && random() < plan.hanging
    const isQuick = random() < plan.quick
    if (isQuick && !hangs) {
      ended(!throws)
      if (throws) throw new Error('a handler that fails')
      return undefined
    }
    return new Promise<void>((resolve, reject) => {
      const end = (): void => {
        if (!hungEnds.delete(end)) return
        ended(!throws)
        if (throws) reject(new Error('a handler that fails'))
        else resolve()
      }
      hungEnds.add(end)
      timeline.after(hangs ? between(random, 1, 60_000) : between(random, 0.1, 300), owner, 'handled', end)
    })
  }

  function kill(place: Place): void {
    const { owner } = place
    owner.alive = false
    place.process = undefined
    ledger.died(owner.name)
    disk.died(owner)
    timeline.after(DEATH_NOTICED_MS, world, 'death noticed', () => engine.died(owner.name))
  }

  async function close(place: Place, deadlineMs: number, closed: () => void): Promise<void> {
    const { process, owner } = place
    ledger.closes(owner.name)
    await process?.close(deadlineMs)
    if (place.owner === owner && owner.alive) kill(place)
    closed()
  }

  function receive(place: Place, callback: Callback): void {
    const { process, owner } = place
    if (process === undefined || !owner.alive) return
    // A stopped process answers no request; the connection waits.
    timeline.after(0, owner, 'receives', () => {
      const event = eventOf(callback, Math.floor(wallMs()), GAP_MS)
      const known = faults.poison.get(sameAs(callback))
      if (known !== undefined) faults.poison.set(event.id, known)
      void admit(process, callback, event)
    })
  }

  async function admit(process: Process, callback: Callback, event: ReturnType<typeof eventOf>): Promise<void> {
    try {
      const admission = await process.admit(event)
      timeline.note(`answered ${admission}`)
      if (admission === 'full') refused += 1
      else ledger.accepted(callback, event)
    } catch (error) {
      refused += 1
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'no code'
      timeline.note(`refused ${code}`)
      // A start that takes too long refuses callbacks meanwhile, because the spool is not open yet either.
      const isExcused = !plan.spool || diskFaults > 0 || process.isClosing || code === 'store_slow'
      if (!isExcused) ledger.breaks('callbacks that the store cannot accept go into the spool', code)
    }
  }

  function lasting(forMs: number, begin: () => void, end: () => void): void {
    begin()
    timeline.after(forMs, world, 'over', end)
  }

  function perform(operation: Operation): void {
    if (operation.kind === 'callback') {
      const place = places[operation.process]
      if (place !== undefined) receive(place, operation.callback)
      return
    }
    switch (operation.kind) {
      case 'kill':
      case 'stop':
      case 'close':
      case 'replay': {
        const place = places[operation.process]
        if (place?.owner.alive !== true) return
        if (operation.kind === 'stop') place.owner.stoppedUntilMs = timeline.nowMs + operation.forMs
        else if (operation.kind === 'replay') {
          const [letter] = ledger.deadIds()
          if (letter !== undefined)
            timeline.after(0, place.owner, 'replay', () => void place.process?.replay(letter).catch(() => {}))
        } else if (operation.kind === 'kill') {
          kill(place)
          timeline.after(operation.forMs, world, 'start', () => start(place))
        } else {
          const startAgain = (): void => void timeline.after(operation.forMs, world, 'start', () => start(place))
          timeline.after(0, place.owner, 'close', () => void close(place, operation.deadlineMs, startAgain))
        }
        return
      }
      case 'power':
        for (const place of places) kill(place)
        timeline.after(operation.forMs, world, 'start', () => places.forEach(start))
        return
      case 'unavailable':
        lasting(
          operation.forMs,
          () => (faults.isUnavailable = true),
          () => (faults.isUnavailable = false),
        )
        return
      case 'slow':
        lasting(
          operation.forMs,
          () => (faults.slowMs = STORE_TIMEOUT_MS),
          () => (faults.slowMs = 0),
        )
        return
      case 'lossy':
        lasting(
          operation.forMs,
          () => (faults.lossy = operation.share),
          () => (faults.lossy = 0),
        )
        return
      case 'full':
      case 'failing': {
        const { kind, forMs } = operation
        diskFaults += 1
        lasting(
          forMs,
          () => (disk.fault = kind),
          () => (disk.fault = 'none'),
        )
        return
      }
      case 'restart':
        timeline.after(0, world, 'restart', () => engine.restart())
        return
      case 'poison':
        faults.poison.set(sameAs(operation.callback), operation.how)
        return
      case 'clock':
        ideal.now()
        offsetMs += operation.byMs
    }
  }

  function heal(): void {
    healed = true
    Object.assign(faults, { isUnavailable: false, slowMs: 0, lossy: 0 })
    for (const key of faults.poison.keys()) faults.poison.set(key, 'soft')
    disk.fault = 'none'
    for (const place of places) {
      timeline.resume(place.owner)
      start(place)
    }
    for (const end of [...hungEnds]) end()
  }

  let asked: { readonly of: readonly (Process | undefined)[]; answered: boolean; isQuiet: boolean } | undefined
  /** Whether nothing waits or runs anywhere, including the processes' own counts, which take time. */
  function isQuiet(): boolean {
    if (ledger.unsettled > 0 || places.some(({ process }) => process === undefined || process.running > 0)) {
      asked = undefined
      return false
    }
    if (asked?.answered === true) {
      const was = asked.isQuiet
      asked = undefined
      return was
    }
    // A process that has ended meanwhile does not answer.
    if (asked?.of.every((process, index) => process === places[index]?.process) === true) return false
    const mine = { of: places.map(({ process }) => process), answered: false, isQuiet: false }
    asked = mine
    void Promise.all(places.map(async ({ process }) => (await process?.unsettled()) ?? 1)).then(
      (counts) => Object.assign(mine, { answered: true, isQuiet: counts.every((count) => count === 0) }),
      () => Object.assign(mine, { answered: true }),
    )
    return false
  }

  /** Runs until `done` returns true, checking at intervals. The first broken promise ends the run. */
  async function goOn(done: () => boolean, what: string): Promise<void> {
    const untilMs = timeline.nowMs + LONGEST_REST_MS
    const isWhole = (): boolean => ledger.broken === undefined
    while (isWhole() && !done()) {
      for (let left = STEPS_A_LOOK; left > 0 && isWhole(); left -= 1) {
        if (!(await timeline.step())) break
        ideal.now()
        for (const { process } of places)
          // Dispatch may hold this many events per slot; late answers of a slow store add to them.
          if ((process?.running ?? 0) > (isSlow ? 32 : 16) * plan.concurrency)
            ledger.breaks('memory is bounded', 'more events are in flight than the capacity allows')
      }
      if (timeline.nowMs > untilMs || timeline.steps > MAX_STEPS) ledger.breaks('all work ends', what)
    }
  }

  for (const place of places) start(place)
  let operationsLeft = plan.operations.length
  for (const operation of plan.operations)
    timeline.after(operation.atMs, world, operation.kind, () => {
      operationsLeft -= 1
      perform(operation)
    })
  await goOn(() => operationsLeft === 0, 'the plan')
  heal()
  await goOn(isQuiet, 'after the faults')
  // Restart all processes: a start retries events moved to the dead letters.
  for (const place of places) {
    let isClosed = false
    void close(place, 60_000, () => (isClosed = true))
    await goOn(() => isClosed, 'a process that closes')
    start(place)
  }
  await goOn(isQuiet, 'after a restart')
  const untilMs = timeline.nowMs + AFTERWARDS_MS
  await goOn(() => timeline.nowMs >= untilMs, 'afterwards')
  if (ledger.broken === undefined)
    await ledger.checkEnd(await engine.open('the end', { nowMs: () => ideal.now(), elapsedMs }))
  const { waiting, refused: setAside } = disk.state()
  if (waiting + setAside > 0) ledger.breaks('memory is bounded', `${waiting + setAside} events are left in the spool`)
  disk.remove()
  await engine.remove()
  const { broken, acceptedCount: accepted, handledCount: handled } = ledger
  return { broken, steps: timeline.steps, hash: timeline.hash, accepted, refused, handled }
}
