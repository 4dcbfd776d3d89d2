/** One server of a contender, or several that share a store. */
import type { ContenderName } from '../contenders/table.ts'
import { newPlace } from '../contenders/stores.ts'
import type { ServerState } from './process.ts'
import { startServer, type HowToStart, type ServerHandle } from './server.ts'

export interface Servers {
  readonly ports: readonly number[]
  /** Waits for the handlers of `handled` callbacks in total, in any process. Rejects if the number differs. */
  settled(handled: number, options?: { readonly gc?: boolean }): Promise<ServerState>
  close(): Promise<void>
}

/** The first server creates the store, the last one removes it. */
export async function startServers(
  name: ContenderName,
  { processes = 1, options, ...how }: HowToStart & { readonly processes?: number | undefined },
): Promise<Servers> {
  const started: ServerHandle[] = []
  const place = processes === 1 ? undefined : { place: newPlace() }
  async function close(): Promise<void> {
    for (const [index, server] of started.entries()) await server.close({ remove: index === started.length - 1 })
  }
  try {
    while (started.length < processes)
      started.push(await startServer(name, { ...how, options: { ...options, ...place } }))
  } catch (error) {
    await close()
    throw error
  }
  return {
    ports: started.map(({ port }) => port),
    async settled(handled, ways) {
      // A single server handles all of them and checks that itself. With several, the share of each is not known in advance.
      const shares = processes === 1 ? [handled] : await Promise.all(started.map((server) => server.handled()))
      const sum = shares.reduce((all, share) => all + share, 0)
      if (sum !== handled)
        throw new Error(`${name}: handlers of ${processes} processes got ${sum} of ${handled} callbacks.`)
      return sumOf(await Promise.all(started.map((server, index) => server.settled(shares[index] ?? 0, ways))))
    },
    close,
  }
}

/** The sum over all processes. */
function sumOf(states: readonly ServerState[]): ServerState {
  const sum = (of: (state: ServerState) => number): number => states.reduce((all, state) => all + of(state), 0)
  return {
    lastHandledAtMs: Math.max(...states.map(({ lastHandledAtMs }) => lastHandledAtMs)),
    cpuMs: sum(({ cpuMs }) => cpuMs),
    rssBytes: sum(({ rssBytes }) => rssBytes),
    heapBytes: sum(({ heapBytes }) => heapBytes),
    bufferBytes: sum(({ bufferBytes }) => bufferBytes),
    longestPauseMs: Math.max(...states.map((state) => state.longestPauseMs)),
  }
}
