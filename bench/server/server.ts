/** A contender's process as the benchmark programs use it. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ContenderName } from '../contenders/table.ts'
import type { StartOptions } from '../contenders/contender.ts'
import { ask } from '../processes/asking.ts'
import { CORES, startPinned, type Core } from '../processes/pinned.ts'
import type { Closed, Listening, ServerQuestion, ServerState, Share } from './process.ts'

export interface ServerHandle {
  readonly port: number
  /** Waits for the handlers of `handled` callbacks in total. Rejects if the number differs. */
  settled(handled: number, options?: { readonly gc?: boolean }): Promise<ServerState>
  /** Waits for the handlers of every accepted callback, in any process; resolves to the number that ran in this one. */
  handled(): Promise<number>
  /** Measures the current state without waiting for work in progress. */
  weigh(options?: { readonly gc?: boolean }): Promise<ServerState>
  /** `remove`: also deletes its stored data, which no other process uses. Default true. */
  close(options?: { readonly remove: boolean }): Promise<void>
}

export interface HowToStart {
  readonly options?: StartOptions | undefined
  /** The folder for a CPU profile; undefined for no profile. */
  readonly profile?: string | undefined
  /** The folder of another built checkout whose server runs instead; undefined for this one. */
  readonly checkout?: string | undefined
  /** Default: the core reserved for servers. */
  readonly core?: Core | undefined
}

export async function startServer(
  name: ContenderName,
  { options = {}, profile, checkout, core = CORES.server }: HowToStart = {},
): Promise<ServerHandle> {
  const child = startPinned(
    checkout === undefined
      ? new URL('process.ts', import.meta.url)
      : pathToFileURL(resolve(checkout, 'bench/server/process.ts')),
    [name, JSON.stringify(options)],
    core,
    profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`],
  )
  const { port } = await ask<Listening>(child, { listen: true } satisfies ServerQuestion)
  return {
    port,
    settled: (handled, { gc = false } = {}) =>
      ask<ServerState>(child, { settled: handled, gc } satisfies ServerQuestion),
    handled: async () => (await ask<Share>(child, { share: true } satisfies ServerQuestion)).handled,
    weigh: ({ gc = false } = {}) => ask<ServerState>(child, { weigh: true, gc } satisfies ServerQuestion),
    async close({ remove } = { remove: true }) {
      try {
        await ask<Closed>(child, { close: true, remove } satisfies ServerQuestion)
      } finally {
        // The process ends by itself so that it writes its profile.
        child.disconnect()
      }
    },
  }
}
