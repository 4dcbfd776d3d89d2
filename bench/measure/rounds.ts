/** Interleaved rounds: in each round every lane gets the same number of callbacks, right after the other lanes. */
import type { ContenderName } from '../contenders/table.ts'
import { CONTENDERS } from '../contenders/table.ts'
import type { Contender, StartOptions } from '../contenders/contender.ts'
import type { DatabaseCpu } from '../database/cpu.ts'
import { createDatabases } from '../database/databases.ts'
import type { Latencies } from '../load/latencies.ts'
import { startLoad } from '../load/load.ts'
import type { ReportsWanted } from '../load/requests.ts'
import type { SchemeName } from '../load/schemes.ts'
import { startServers, type Servers } from '../server/servers.ts'
import { CORES, type Cores } from '../processes/pinned.ts'

/** One row of a report: a contender, and how requests are sent to it. */
export interface Lane {
  readonly label: string
  readonly contender: ContenderName
  readonly start?: StartOptions
  /** The number of servers that share a store and the callbacks. Default 1. */
  readonly processes?: number
  /** The folder of another checkout whose server runs; default: this one. */
  readonly checkout?: string
  /** Lanes with the same key share a server process. Default: a process of its own. */
  readonly shares?: string
  /** Default: the contender's own scheme. */
  readonly scheme?: SchemeName
  readonly expect?: number
  /** Whether its handlers run for what is sent. Default true; false for duplicates and refused requests. */
  readonly handled?: boolean
  readonly connections?: number
  /** The reports that a round makes; default: those of the whole program. */
  readonly reports?: Omit<ReportsWanted, 'count'>
  /** Makes separate reports: a shared server already knows those of the previous lane. Default false. */
  readonly fresh?: boolean
  /** Requests per second; default: as many as possible. */
  readonly rate?: number
}

/** One lane in one round. */
export interface Sample extends Latencies {
  /** Time per callback, from the first request to the last answer or the last handler, whichever is later. */
  readonly microseconds: number
  /** CPU time per callback of all server threads; of all servers if there are several. */
  readonly cpuMicroseconds: number
  /** CPU time per callback of the database server; undefined if there is no server or it cannot be read. */
  readonly databaseMicroseconds: number | undefined
  /** The longest pause of the garbage collector in a server's main thread. */
  readonly longestPauseMs: number
  readonly rssBytes: number
  /** Measured before the round, after a collection. */
  readonly heapBytes: number
  /** Near 1, the load is the limit. */
  readonly loadCpuShare: number
}

export interface Measured {
  readonly lane: Lane
  readonly samples: readonly Sample[]
}

export interface RoundsOptions {
  readonly rounds: number
  readonly warmUps: number
  readonly callbacks: number
  readonly connections: number
  /** The folder for a CPU profile of each server; undefined for no profile. */
  readonly profile?: string | undefined
  /** Default: the servers on one core, the load on another. */
  readonly cores?: Cores | undefined
  /** Called before each round. */
  readonly onRound?: (round: number) => void
}

interface Entrant {
  readonly lane: Lane
  readonly server: Servers
  readonly database: DatabaseCpu | undefined
  /** Counts of the server, which lanes may share. */
  readonly counts: { handled: number }
  readonly samples: Sample[]
}

/**
 * Runs all lanes. Each round starts with a different lane, so that no lane always follows the same other lane.
 * Lanes that share a server stay together and in their order.
 */
export async function runRounds(lanes: readonly Lane[], options: RoundsOptions): Promise<readonly Measured[]> {
  const { cores = CORES } = options
  const load = startLoad(cores.load)
  const servers = new Map<string, Omit<Entrant, 'lane' | 'samples'>>()
  const databases = createDatabases()
  try {
    const groups = new Map<string, Entrant[]>()
    for (const [index, lane] of lanes.entries()) {
      const key = lane.shares ?? String(index)
      const { store }: Contender = CONTENDERS[lane.contender]
      const shared = servers.get(key) ?? {
        server: await startServers(lane.contender, {
          processes: lane.processes,
          options: lane.start,
          profile: options.profile,
          checkout: lane.checkout,
          core: cores.server,
        }),
        database: await databases.of(store),
        counts: { handled: 0 },
      }
      servers.set(key, shared)
      groups.set(key, [...(groups.get(key) ?? []), { lane, samples: [], ...shared }])
    }
    const turns = [...groups.values()]
    for (let round = 0; round < options.warmUps + options.rounds; round += 1) {
      options.onRound?.(round)
      const first = round % turns.length
      let made: string | undefined
      for (const entrants of [...turns.slice(first), ...turns.slice(0, first)]) {
        for (const entrant of entrants) {
          const wanted = { count: options.callbacks, ...entrant.lane.reports }
          const isNew = entrant.lane.fresh === true || JSON.stringify(wanted) !== made
          if (isNew) await load.make(wanted)
          made = JSON.stringify(wanted)
          const sample = await runLane(entrant, load, options)
          if (round >= options.warmUps) entrant.samples.push(sample)
        }
      }
    }
    return turns.flat().map(({ lane, samples }) => ({ lane, samples }))
  } finally {
    load.stop()
    for (const { server } of servers.values()) await server.close()
    await databases.close()
  }
}

async function runLane(
  { lane, server, database, counts }: Entrant,
  load: ReturnType<typeof startLoad>,
  { callbacks, connections }: RoundsOptions,
): Promise<Sample> {
  const { scheme, answers } = CONTENDERS[lane.contender]
  // Collect the garbage of earlier lanes before the clock runs.
  const before = await server.settled(counts.handled, { gc: true })
  const databaseBeforeMs = await database?.readMs()
  const { startedAtMs, lastAnswerAtMs, cpuShare, ...latencies } = await load.send({
    ports: server.ports,
    scheme: lane.scheme ?? scheme,
    expect: lane.expect ?? answers,
    connections: lane.connections ?? connections,
    rate: lane.rate,
  })
  if (lane.handled ?? true) counts.handled += callbacks
  const state = await server.settled(counts.handled)
  const databaseAfterMs = await database?.readMs()
  const lastMs = Math.max(lastAnswerAtMs, state.lastHandledAtMs)
  return {
    microseconds: ((lastMs - startedAtMs) * 1_000) / callbacks,
    cpuMicroseconds: ((state.cpuMs - before.cpuMs) * 1_000) / callbacks,
    databaseMicroseconds:
      databaseBeforeMs === undefined || databaseAfterMs === undefined
        ? undefined
        : ((databaseAfterMs - databaseBeforeMs) * 1_000) / callbacks,
    ...latencies,
    longestPauseMs: state.longestPauseMs,
    rssBytes: state.rssBytes,
    heapBytes: before.heapBytes,
    loadCpuShare: cpuShare,
  }
}
