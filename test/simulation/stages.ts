/** The stages on which the simulation runs. */
import { memoryEngine, serverEngine, sqliteEngine } from './engine.ts'
import type { Stage } from './simulate.ts'

/** A store in the process that is called without a promise: no network can fail, and it does not survive a crash. */
export const IN_PROCESS: Stage = {
  name: 'memory in its process',
  scope: { isDurable: false, setsBack: true },
  engine: memoryEngine,
  inProcess: true,
}

export const MEMORY: Stage = {
  name: 'memory behind a network',
  scope: { isDurable: true, setsBack: false },
  engine: serverEngine,
}

export const SQLITE: Stage = {
  name: 'sqlite',
  scope: { isDurable: true, setsBack: true },
  engine: sqliteEngine,
}
