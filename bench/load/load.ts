/** The load as the benchmark's programs see it. */
import { ask } from '../processes/asking.ts'
import { CORES, startPinned, type Core } from '../processes/pinned.ts'
import type { Holding, LoadQuestion, LoadResult, Made } from './process.ts'
import type { ReportsWanted } from './requests.ts'

interface Load {
  /** Makes new reports, which every contender of a round gets. */
  make(wanted: ReportsWanted): Promise<void>
  /** Sends each of them once. Rejects for a wrong answer. */
  send(
    to: Omit<Extract<LoadQuestion, { readonly sendTo: readonly number[] }>, 'sendTo'> & {
      readonly ports: readonly number[]
    },
  ): Promise<LoadResult>
  /** Opens connections that send all of a body but its last byte, until they are released. */
  hold(how: { readonly port: number; readonly connections: number; readonly bodyBytes: number }): Promise<void>
  release(): Promise<void>
  stop(): void
}

export function startLoad(core: Core = CORES.load): Load {
  const child = startPinned(new URL('process.ts', import.meta.url), [], core)
  return {
    async make(wanted) {
      await ask<Made>(child, { make: wanted } satisfies LoadQuestion)
    },
    send: ({ ports, ...how }) => ask<LoadResult>(child, { ...how, sendTo: ports } satisfies LoadQuestion),
    async hold({ port, ...how }) {
      await ask<Holding>(child, { ...how, hold: port } satisfies LoadQuestion)
    },
    async release() {
      await ask<Holding>(child, { release: true } satisfies LoadQuestion)
    },
    stop: () => void child.kill(),
  }
}
