/** The messages between the main thread and the thread of the store: the operations of the contract, with packed commands. */
import type * as messages from '../../sqlite/messages.ts'
import type { DatabaseOptions } from './database.ts'
import { unpackCommands, type PackedCommands } from './encoding.ts'
import { isDurableCommand, type Engine, type EngineOptions, type Times } from './engine.ts'
import type { Worker } from './workers.ts'

export interface WorkerSettings extends Pick<EngineOptions, 'retention'> {
  readonly database: DatabaseOptions
  /** Contains a folder for each worker, which shows whether the worker is alive. */
  readonly workersFolder: string
  /** The worker to register at the start. Undefined if the process does not claim, or not yet. */
  readonly worker?: Worker | undefined
}

export type Calls = ReturnType<typeof createCalls>

/** The calls of the main thread. */
export function createCalls({ workers, ...engine }: Engine) {
  return {
    run: (packed: PackedCommands, times: Times) => engine.run(unpackCommands(packed), times),
    due: engine.due,
    scan: engine.scan,
    counts: engine.counts,
    compact: engine.compact,
    setBack: engine.setBack,
    workers: workers.listed,
    enter: workers.enter,
    close: engine.close,
  }
}

export type CallName = keyof Calls

export type Request = messages.Request<CallName>

/** Calls that share a transaction with others of their kind. */
export function isTogether({ call }: Request): boolean {
  return call === 'run'
}

/** Whether its effect must survive a power failure once it is answered. */
export function isDurableRequest({ call, args }: Request): boolean {
  // `args` are those of the call.
  const [packed] = args as Parameters<Calls['run']>
  return call === 'run' && packed.commands.some(isDurableCommand)
}

/** Calls for people may take some milliseconds, so they run when nothing else waits. Closing waits for all calls. */
export function isLast({ call }: Request): boolean {
  return call === 'scan' || call === 'close'
}
