/** The messages between the main thread and the thread of the store. */
import type { ErrorCode } from '../../public/error-table.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { ClaimRequest } from '../../inbox/store.ts'
import type { DatabaseOptions } from './database.ts'
import { unpackEvents, type PackedEvents } from './encoding.ts'
import type { Engine, EngineOptions } from './engine.ts'
import type { Worker } from './workers.ts'

export interface WorkerSettings extends Pick<EngineOptions, 'retention'> {
  readonly database: DatabaseOptions
  /** Contains a folder for each worker, which shows whether the worker is alive. */
  readonly workersFolder: string
  /** The worker to register at the start. Undefined if the process does not claim, or not yet. */
  readonly worker?: Worker | undefined
}

export type Calls = ReturnType<typeof createCalls>

/** The calls of the main thread: the operations of the contract, with packed events. */
export function createCalls(engine: Engine) {
  const { workers, ...verbs } = engine
  return {
    ...verbs,
    enter: workers.enter,
    listed: workers.listed,
    admit: (packed: PackedEvents, nowMs: number) => engine.admit(unpackEvents(packed), nowMs),
    admitOverdue: (packed: PackedEvents, nowMs: number) => engine.admitOverdue(unpackEvents(packed), nowMs),
    admitAndClaim(packed: PackedEvents, request: ClaimRequest) {
      const answered = engine.admitAndClaim(unpackEvents(packed), request)
      if (answered instanceof Promise) throw new TypeError('A local store answers at once.')
      const { admissions, claims } = answered
      // Leave out the events, which the caller has.
      return { admissions, leases: claims.map(({ id, token, late, expected }) => [id, token, late, expected] as const) }
    },
  }
}

/** Calls that share a transaction with others of their kind. */
const TOGETHER = ['admit', 'admitAndClaim', 'claim', 'settle'] as const
/** Calls for people may take some milliseconds, so they run when nothing else waits. Closing waits for all calls. */
const LAST = ['deadLetters', 'events', 'expectations', 'sentTo', 'kept', 'close'] as const
/** Each of these calls, and of `OF_SENDS`, has its own transaction or needs none. */
const ALONE = ['latest', 'resolve', 'prune', 'forget', 'eraseTraces', 'counts', 'enter', 'listed'] as const
const OF_SENDS = ['expect', 'overdue', 'admitOverdue', 'awaitNoMore'] as const

export const VERBS = [...TOGETHER, ...LAST, ...ALONE, ...OF_SENDS] as const
export type Verb = (typeof VERBS)[number]

const isOneOf = (verbs: readonly Verb[]) => {
  const set = new Set(verbs)
  return ({ verb }: Request): boolean => set.has(verb)
}
export const isTogether = isOneOf(TOGETHER)
export const isLast = isOneOf(LAST)

export interface Request {
  readonly number: number
  readonly verb: Verb
  readonly args: readonly unknown[]
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
