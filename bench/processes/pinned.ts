/** Pins child processes to cores of their own, so that server and load do not compete for CPU time. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Where a process may run: on this core, or on any. */
export type Core = number | 'any'

/** Where the servers run, and where the load runs. */
export interface Cores {
  readonly server: Core
  readonly load: Core
}

/** The core of every server, and the core of the load. */
export const CORES = { server: 0, load: 1 } as const satisfies Cores

/** For several servers at once: on one shared core, more servers could never be faster than one. */
export const ANY_CORES: Cores = { server: 'any', load: 'any' }

const canPin =
  availableParallelism() > 1 &&
  Object.values(CORES).every((core) => spawnSync('taskset', ['-c', String(core), 'true']).status === 0)

/** Shown at the top of the report. */
export const PINNING = canPin
  ? `servers on core ${CORES.server}, load on core ${CORES.load}, where no program says otherwise`
  : 'not pinned: taskset is missing, or only one core'

/** Starts one of our programs with a channel for questions. */
export function startPinned(
  program: URL,
  args: readonly string[],
  core: Core,
  nodeFlags: readonly string[] = [],
): ChildProcess {
  const command = [process.execPath, '--expose-gc', ...nodeFlags, fileURLToPath(program), ...args]
  const [file = process.execPath, ...rest] =
    canPin && core !== 'any' ? ['taskset', '-c', String(core), ...command] : command
  return spawn(file, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}
