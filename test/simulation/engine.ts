/** The real engines of the stores, each in a location of its own, called one request at a time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageStore, StoreHost } from '../../src/inbox/store.ts'
import type { Command } from '../../src/messages/commands.ts'
import { catchUp } from '../../src/stores/catch-up.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { openDatabase } from '../../src/stores/sqlite/database.ts'
import { packCommands, unpackCommands } from '../../src/stores/sqlite/encoding.ts'
import { createEngine } from '../../src/stores/sqlite/engine.ts'
import { MAX_APART_MS } from '../../src/stores/server-time.ts'
import { createTrustedTime } from '../../src/stores/trusted-time.ts'

/** The clock of a process, or of the world. */
export type Times = Pick<StoreHost, 'nowMs' | 'elapsedMs'>

/** An engine that belongs to one world. */
export interface Engine {
  readonly name: string
  /** Whether it receives the calls of all processes in order, because they cannot see its clock go back. */
  readonly isInOrder?: boolean
  /** Opens it for a process. */
  open(process: string, times: Times): Promise<MessageStore>
  /** The others notice that a process has died, and release its leases. */
  died(process: string): void
  /** The server, or the thread that holds the file, restarts; confirmed data is kept. */
  restart(): Promise<void>
  remove(): Promise<void>
}

const LEASELESS = { report() {}, onWork() {}, onLost() {}, inFlight: () => undefined, claims: true }

/** Memory in its process: `open` again after a restart finds what was there, because its process only seems to restart. */
export async function memoryEngine(): Promise<Engine> {
  let times: Times | undefined
  const nowMs = (): number => times?.nowMs() ?? 0
  const host = { ...LEASELESS, nowMs, wallMs: nowMs, elapsedMs: () => times?.elapsedMs() ?? 0 }
  const store = await memoryStore().open(host)
  return {
    name: 'memory',
    async open(_, of) {
      times = of
      return { ...store, close() {} }
    },
    died() {},
    async restart() {},
    async remove() {},
  }
}

/** Memory is called like a server, although it forgets with its process: its decisions are the same. */
export async function serverEngine(world: Times): Promise<Engine> {
  const store = await memoryStore().open({ ...LEASELESS, ...world, wallMs: world.nowMs })
  return {
    name: 'server',
    isInOrder: true,
    open: async () => ({ ...store, close() {} }),
    died() {},
    async restart() {},
    async remove() {},
  }
}

const DAYS = 3_650
const HERE = process.platform === 'linux' ? '/dev/shm' : tmpdir()

/** SQLite in this thread, on a file in memory, with a connection for each process; other tests cover its thread and the disk. */
export async function sqliteEngine(): Promise<Engine> {
  const folder = mkdtempSync(join(HERE, 'simulation-'))
  let opens = 0
  type Connection = Awaited<ReturnType<typeof connect>>
  /** A process may have several: one that opens after its deadline is closed then, and another one opens meanwhile. */
  const connections = new Map<Connection, string>()

  async function connect(name: string) {
    const database = await openDatabase({ path: join(folder, 'file.db'), synchronous: 'OFF', busyTimeoutMs: 1_000 })
    const retention = { retentionDays: DAYS, deadLetterDays: DAYS, dedupeDays: DAYS }
    const engine = createEngine({ database, retention })
    engine.workers.enter({ name, process: name, sinceMs: 0 })
    // Without releasing the leases, as when the thread ends.
    const abort = (): void => database.db.close()
    return { name, engine, abort, latestMs: database.latestNowMs }
  }

  function disconnect(connection: Connection): void {
    if (connections.delete(connection)) connection.engine.close()
  }

  return {
    name: 'sqlite',
    async open(process, { nowMs, elapsedMs }) {
      opens += 1
      const connection = await connect(`${process} ${opens}`)
      connections.set(connection, process)
      const { latestMs } = connection
      const trusted = createTrustedTime(latestMs, elapsedMs)
      const times = () => ({ nowMs: nowMs(), trustedMs: trusted.ofNow(nowMs()) })
      const run = <C extends Command>(commands: readonly C[]) =>
        // Unpacked, they are what was packed.
        connection.engine.run(unpackCommands(packCommands(commands)) as readonly C[], times())
      if (latestMs !== undefined && latestMs > nowMs() + MAX_APART_MS) {
        const dueBy = (ms: number, limit: number, exclude: ReadonlySet<string>) =>
          connection.engine.due({ of: 'events', limit, exclude }, { ...times(), nowMs: ms }).keys
        await catchUp({ dueBy, run }, latestMs)
        connection.engine.setBack(nowMs())
      }
      return {
        run,
        due: (request) => connection.engine.due(request, times()),
        scan: (query) => connection.engine.scan(query),
        counts: () => connection.engine.counts(),
        close: () => disconnect(connection),
      }
    },
    died(process) {
      for (const [connection, owner] of connections) if (owner === process) disconnect(connection)
    },
    async restart() {
      for (const connection of connections.keys()) {
        connection.abort()
        Object.assign(connection, await connect(connection.name))
      }
    },
    async remove() {
      for (const connection of connections.keys()) disconnect(connection)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
