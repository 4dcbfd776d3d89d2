/** The places where the simulation plays. */
import { memoryEngine, sqliteEngine } from './engine.ts'
import type { Stage } from './simulate.ts'

/** The store of a process that is asked without a promise: there is no network that could fail, and no crash to survive. */
export const IN_PROCESS: Stage = {
  name: 'memory in its process',
  scope: { isDurable: false, setsBack: true },
  engine: memoryEngine,
  inProcess: true,
}

export const MEMORY: Stage = {
  name: 'memory behind a network',
  scope: { isDurable: true, setsBack: false },
  engine: memoryEngine,
}

export const SQLITE: Stage = {
  name: 'sqlite',
  scope: { isDurable: true, setsBack: true },
  engine: sqliteEngine,
}
