/** The load as the benchmark programs use it. */
import { ask } from '../processes/asking.ts'
import { CORES, startPinned, type Core } from '../processes/pinned.ts'
import type { Holding } from './hold.ts'
import type { LoadQuestion, LoadResult, Made, Released } from './process.ts'
import type { ReportsWanted } from './requests.ts'

interface Load {
  /** Makes new reports; every contender of a round receives the same ones. */
  make(wanted: ReportsWanted): Promise<void>
  /** Sends each of them once. Rejects on a wrong answer. */
  send(
    to: Omit<Extract<LoadQuestion, { readonly sendTo: readonly number[] }>, 'sendTo'> & {
      readonly ports: readonly number[]
    },
  ): Promise<LoadResult>
  /** Opens slow connections and holds them until they are released. */
  hold(how: Holding): Promise<void>
  /** Returns how often a connection was cut off. */
  release(): Promise<number>
  stop(): void
}

export function startLoad(core: Core = CORES.load): Load {
  const child = startPinned(new URL('process.ts', import.meta.url), [], core)
  return {
    async make(wanted) {
      await ask<Made>(child, { make: wanted } satisfies LoadQuestion)
    },
    send: ({ ports, ...how }) => ask<LoadResult>(child, { ...how, sendTo: ports } satisfies LoadQuestion),
    async hold(how) {
      await ask<Released>(child, { hold: how } satisfies LoadQuestion)
    },
    release: async () => (await ask<Released>(child, { release: true } satisfies LoadQuestion)).cutOff,
    stop: () => void child.kill(),
  }
}
