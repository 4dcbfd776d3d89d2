/** The messages between the main thread and the thread of the store: the operations of the contract, with packed commands. */
import type { ErrorCode } from '../../public/error-table.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { DatabaseOptions } from './database.ts'
import { unpackCommands, type PackedCommands } from './encoding.ts'
import { isDurable as isDurableCommand, type Engine, type EngineOptions, type Times } from './engine.ts'
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
    workers: workers.listed,
    enter: workers.enter,
    close: engine.close,
  }
}

export type CallName = keyof Calls

export interface Request {
  readonly number: number
  readonly call: CallName
  readonly args: readonly unknown[]
}

/** Calls that share a transaction with others of their kind. */
export function isTogether({ call }: Request): boolean {
  return call === 'run'
}

/** Whether its effect must survive a power failure once it is answered. */
export function isDurable({ call, args }: Request): boolean {
  // `args` are those of the call.
  const [packed] = args as Parameters<Calls['run']>
  return call === 'run' && packed.commands.some(isDurableCommand)
}

/** Calls for people may take some milliseconds, so they run when nothing else waits. Closing waits for all calls. */
export function isLast({ call }: Request): boolean {
  return call === 'scan' || call === 'close'
}

/** The number of the first answer, which says whether the file is open. */
export const OPENED = 0

export type Reply =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: SentError }
  /** Another process has written to the file, or has died. */
  | 'work'
  | { readonly report: SentError }

/** An error of this package as plain fields: a message to another thread loses its class. */
interface SentError {
  readonly ours?: { readonly code: ErrorCode; readonly detail: string | undefined }
  readonly cause: unknown
}

export function sendError(error: unknown): SentError {
  if (!(error instanceof MessagingWebhooksError)) return { cause: error instanceof Error ? error : String(error) }
  const { code, detail, cause } = error
  return { ours: { code, detail }, cause }
}

export function receiveError({ ours, cause }: SentError): unknown {
  return ours === undefined
    ? cause
    : new MessagingWebhooksError(ours.code, ours.detail, cause === undefined ? undefined : { cause })
}
