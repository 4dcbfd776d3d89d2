/** What the two threads say to each other. */
import type { ErrorCode } from '../../error-table.ts'
import type { DatabaseOptions } from './database.ts'
import type { RetentionDays } from './engine.ts'

export interface WorkerSettings {
  readonly database: DatabaseOptions
  readonly retention: RetentionDays
  /** Holds a folder for each open store, by which others see whether it is alive. */
  readonly holdersFolder: string
  /** False where nothing will be claimed: then it holds nothing. */
  readonly claims: boolean
}

export type Verb =
  | 'admit'
  | 'admitAndClaim'
  | 'claim'
  | 'settle'
  | 'latest'
  | 'deadLetters'
  | 'events'
  | 'resolve'
  | 'expect'
  | 'overdue'
  | 'admitOverdue'
  | 'awaitNoMore'
  | 'expectations'
  | 'sentTo'
  | 'prune'
  | 'kept'
  | 'forget'
  | 'eraseTraces'
  | 'counts'
  | 'hold'
  | 'listedHolders'
  | 'takeBack'
  | 'takeBackAllBut'
  | 'close'

/** What people ask for: it may take some milliseconds, so callbacks go first; and the end, which waits for all of it. */
export const LOOKS: ReadonlySet<Verb> = new Set<Verb>([
  'deadLetters',
  'events',
  'expectations',
  'sentTo',
  'kept',
  'close',
])

/** What one transaction can hold together. */
export const TOGETHER: ReadonlySet<Verb> = new Set<Verb>(['admit', 'admitAndClaim', 'claim', 'settle'])

/** The number of the first reply, which nobody asked for: the file is open, or is not. */
export const OPENED = 0
/** The number of a reply that nobody asked for: another process has written to the file, or has died. */
export const WORK_CAME = -1

/** The number of a reply that nobody asked for: something is wrong, an `OurError`. */
export const REPORT = -2

export interface Request {
  readonly number: number
  readonly verb: Verb
  readonly args: readonly unknown[]
}

export type Reply =
  | { readonly number: number; readonly ok: true; readonly value: unknown }
  | { readonly number: number; readonly ok: false; readonly error: unknown; readonly ours: OurError | undefined }

/** Our own errors lose their class on the way. */
export interface OurError {
  readonly code: ErrorCode
  readonly detail: string | undefined
}
