/** What the two threads say to each other. */
import type { ErrorCode } from '../../errors.ts'
import type { Admission, NewEvent } from '../../inbox/store.ts'
import type { DatabaseOptions } from './database.ts'
import type { Retention } from './pruning.ts'

export interface WorkerSettings {
  readonly database: DatabaseOptions
  readonly retention: Retention
  /** Holds a folder for each open store, by which others see whether it is alive. */
  readonly holdersFolder: string
}

export type Verb =
  | 'admit'
  | 'admitAndClaim'
  | 'claim'
  | 'settle'
  | 'latest'
  | 'deadLetters'
  | 'resolve'
  | 'prune'
  | 'counts'
  | 'hold'
  | 'close'

/** The number of the first reply, which nobody asked for: the file is open, or is not. */
export const OPENED = 0
/** The number of a reply that nobody asked for: another process has written to the file, or has died. */
export const WORK_CAME = -1

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

/** A batch with all bodies in one buffer: a small Buffer is a slice of a pool, which would be copied whole each time. */
export interface PackedEvents {
  readonly events: readonly Omit<NewEvent, 'raw'>[]
  readonly bodies: ArrayBuffer
  /** Where each body ends. */
  readonly ends: readonly number[]
}

export function packEvents(events: readonly NewEvent[]): PackedEvents {
  const bodies = new ArrayBuffer(events.reduce((sum, { raw }) => sum + raw.length, 0))
  const into = new Uint8Array(bodies)
  const ends: number[] = []
  let end = 0
  const rest = events.map(({ raw, ...event }) => {
    into.set(raw, end)
    end += raw.length
    ends.push(end)
    return event
  })
  return { events: rest, bodies, ends }
}

export function unpackEvents({ events, bodies, ends }: PackedEvents): readonly NewEvent[] {
  let start = 0
  return events.map((event, index) => {
    const end = ends[index] ?? start
    const raw = Buffer.from(bodies, start, end - start)
    start = end
    return { ...event, raw }
  })
}

/** What became of each event of a batch, and the token of its lease; 0 for none. */
export interface AdmittedAndLeased {
  readonly admissions: readonly Admission[]
  readonly tokens: readonly number[]
}
