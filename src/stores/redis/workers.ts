/**
 * This process as a worker that holds leases. It shows life in each group of partitions, for one server of several may be unavailable,
 * and ends the leases of workers that are gone. The list of workers is a text with a version, written like a record.
 */
import { randomBytes } from 'node:crypto'
import { withDeadline, type Clock } from '../../runtime/clock.ts'
import { releaseCommand, type Runner } from '../../inbox/runtime/commands.ts'
import type { OpenStore, StoreHolder, StoreHost } from '../../inbox/store.ts'
import { createHolding, type Holding } from '../holding.ts'
import { changeList, createBeat, leave, readLiveness, type WorkerList } from '../liveness.ts'
import { ask, runIf, valuesAt, type Engine } from './engine.ts'
import { answered, type Group } from './partitions.ts'
import type { Records } from './records.ts'
import { list, text } from './replies.ts'
import { FOREIGN, VERSION_DIGITS } from './scripts.ts'

/** Opening waits so long for the first heartbeat, and closing until all is given back: a server may be unavailable. */
const BEGIN_MS = 1_000
const LEAVE_MS = 1_500
/** More than the processes of a store run at once. */
const MOST_LEASES = 100_000
const WORKERS = 'workers'

interface Workers {
  /** Shows life from now on. */
  begin(): Promise<void>
  /** The name to lease a record under; undefined where others may have taken this process for dead. */
  nameFor(recordKey: string): string | undefined
  /** The same of all records of a group. */
  mayLease(group: number): boolean
  /** Resolves once something may be leased; rejects where no server answers. */
  sure(): Promise<unknown>
  readonly isHeld: NonNullable<OpenStore['isHeld']>
  readonly holders: NonNullable<OpenStore['holders']>
  /** Gives back what is still leased. */
  leave(): Promise<void>
}

interface WorkersOptions {
  readonly engine: Engine
  readonly records: Records
  readonly runner: Runner
  readonly clock: Clock
  readonly host: StoreHost
  /** To be called where something is due for others, too. */
  readonly announce: () => void
}

export function createWorkers({ engine, records, runner, clock, host, announce }: WorkersOptions): Workers {
  const { partitions } = engine
  const process = randomBytes(6).toString('base64url')
  const holdings = host.claims === false ? undefined : partitions.groups.map(createMember)

  function listOf([home]: Group): WorkerList {
    return {
      async read() {
        const look = { partition: home, key: WORKERS, expected: 'none', commands: [] }
        const [{ nowMs }, [stored]] = await Promise.all([
          runIf(engine, [look], { fits: true }),
          valuesAt(engine, [home.base + WORKERS]),
        ])
        if (stored === undefined) return { liveness: undefined, version: undefined, nowMs }
        const version = stored.toString('latin1', 0, VERSION_DIGITS)
        return { liveness: readLiveness(stored.toString('utf8', VERSION_DIGITS)), version, nowMs }
      },
      async write(liveness, expected = '') {
        const version = randomBytes(VERSION_DIGITS / 2).toString('hex')
        const commands = [['SET', WORKERS, version + JSON.stringify(liveness)]] as const
        const { found } = await runIf(engine, [{ partition: home, key: WORKERS, expected, commands }], { fits: true })
        if (found[0] === FOREIGN) await ask(engine, home, ['UNLINK', WORKERS])
        return found[0] === expected || found[0] === version
      },
    }
  }

  function createMember(group: Group): Holding {
    const [home] = group
    const holding = createHolding({
      clock,
      beat: createBeat({
        list: listOf(group),
        process,
        isSure: () => holding.isHeld() === true,
        endLeases: (isEnded) => endLeases(group, isEnded),
        announce,
      }),
      onLost: () => host.onLost?.((recordKey) => partitions.of(recordKey).group === home.group),
      onWork: host.onWork,
    })
    return holding
  }

  async function leasesOf(group: Group) {
    const keys = await Promise.all(
      group.map(async (partition) =>
        list(await ask(engine, partition, ['ZRANGE', 'leased', '0', String(MOST_LEASES)])),
      ),
    )
    // What cannot be read, or is of a later version, is left alone: it must not end a heartbeat.
    const found = await records.look(keys.flat().map(text))
    return [...found].flatMap(([key, { lease }]) => (lease === undefined ? [] : [{ key, worker: lease.worker }]))
  }

  async function endLeases(group: Group, isEnded: (worker: string) => boolean): Promise<boolean> {
    const ended = (await leasesOf(group)).filter(({ worker }) => worker !== '' && isEnded(worker))
    const answers = await runner.run(ended.map(({ key, worker }) => releaseCommand(key, worker)))
    return answers.includes(true)
  }

  async function leaveGroup(group: Group, holding: Holding): Promise<void> {
    await holding.stop()
    const { id } = holding
    await changeList(listOf(group), (known, nowMs) => ({ liveness: leave(known, id, nowMs) }))
    if (await endLeases(group, (worker) => worker === id)) announce()
  }

  async function holdersIn(group: Group) {
    const [{ liveness, nowMs }, leases] = await Promise.all([listOf(group).read(), leasesOf(group)])
    const living = liveness?.workers.filter(({ goneMs }) => goneMs === undefined) ?? []
    return living.map((worker) => {
      const holder: StoreHolder = {
        id: worker.id,
        name: worker.name,
        isSelf: worker.process === process,
        sinceMs: worker.sinceMs,
        silentMs: Math.max(0, nowMs - worker.seenMs),
        held: leases.filter((lease) => lease.worker === worker.id).length,
      }
      return { process: worker.process, holder }
    })
  }

  const holdingOf = (recordKey: string): Holding | undefined => holdings?.[partitions.of(recordKey).group]
  const isSure = (holding: Holding | undefined): boolean => holding === undefined || holding.isHeld() === true

  return {
    async begin() {
      const begun = Promise.allSettled(holdings?.map(async (holding) => holding.sure()) ?? [])
      // What it cannot say yet it says with the next heartbeat.
      await withDeadline<unknown>(clock, BEGIN_MS, begun, () => undefined)
    },
    nameFor(recordKey) {
      const holding = holdingOf(recordKey)
      if (holding === undefined) return ''
      return isSure(holding) ? holding.id : undefined
    },
    mayLease: (group) => isSure(holdings?.[group]),
    async sure() {
      if (holdings === undefined || holdings.some(isSure)) return
      await Promise.any(holdings.map(async (holding) => holding.sure())).catch((error: unknown) => {
        throw error instanceof AggregateError ? error.errors[0] : error
      })
    },
    isHeld: (recordKey) => {
      const holding = holdingOf(recordKey)
      return holding === undefined ? true : holding.isHeld()
    },
    async holders() {
      const processes = new Map<string, StoreHolder>()
      for (const { process: name, holder } of (await answered(partitions.groups.map(holdersIn))).flat()) {
        const other = processes.get(name)
        processes.set(name, other === undefined ? holder : together(other, holder))
      }
      return [...processes.values()].toSorted((a, b) => (a.sinceMs ?? 0) - (b.sinceMs ?? 0) || (a.id < b.id ? -1 : 1))
    },
    async leave() {
      if (holdings === undefined) return
      const left = holdings.map((holding, at) => {
        const group = partitions.groups[at]
        return group === undefined ? Promise.resolve() : leaveGroup(group, holding)
      })
      // What takes longer is given back when this process is taken for dead.
      await withDeadline<unknown>(clock, LEAVE_MS, Promise.allSettled(left), () => undefined)
    },
  }
}

/** One process, as two groups of partitions know it; servers of a cluster have clocks of their own. */
function together(one: StoreHolder, other: StoreHolder): StoreHolder {
  return {
    ...one,
    sinceMs: Math.min(one.sinceMs ?? Infinity, other.sinceMs ?? Infinity),
    silentMs: Math.min(one.silentMs, other.silentMs),
    held: one.held + other.held,
  }
}
