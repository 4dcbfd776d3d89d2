/** What a store knows of an event, in words: nothing is made up of what it does not keep any more. */
import type { WebhookEvent } from '../events.ts'
import type { EventRecord } from '../inbox/record.ts'
import type { StoredEvent } from '../inbox/store.ts'
import { aboutOf, reportWords } from './event-line.ts'
import { eventOf } from './kept-event.ts'

/** An event of the list, as far as anything is known of it. */
export interface KnownEvent {
  readonly stored: StoredEvent
  /** Undefined where only the identity is kept. */
  readonly type: string | undefined
  /** What it is about, in a few words. */
  readonly about: readonly string[]
  /** As handlers get it; undefined where its bytes are not kept. */
  readonly event: WebhookEvent | undefined
}

export async function knownEvent(stored: StoredEvent): Promise<KnownEvent> {
  const { id, record, raw } = stored
  if (record === undefined) return { stored, type: raw && 'damaged', about: [], event: undefined }
  if (raw === undefined) return { stored, ...ofRecord(record), event: undefined }
  // As itself: whether it came too late is said beside it.
  const event = await eventOf({ id, late: false, record, raw })
  return { stored, type: event.type, about: aboutOf(event), event }
}

function ofRecord(record: EventRecord): Pick<KnownEvent, 'type' | 'about'> {
  const { report, problem, kind, project, overdue, unknownSend } = record
  const of = project === undefined ? [] : [`[${project}]`]
  if (overdue === true) return { type: 'message.overdue', about: of }
  if (unknownSend === true) return { type: 'send.unknown', about: of }
  if (report !== undefined) return { type: report.type, about: [...reportWords(report), ...of] }
  return problem === undefined ? { type: kind, about: of } : { type: 'unrecognized', about: [problem, ...of] }
}

/** Where it stands, in a few words: “dead after 5 attempts”, “due again at …, after 1 attempt”. */
export function standingOf({ state, attempts, dueMs, endedAtMs, late }: StoredEvent, nowMs: number): string {
  const times = attempts === undefined ? '' : attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const words = {
    due: () => (attempts === 0 ? `due${at(dueMs)}` : `due again${at(dueMs)}${times && `, after ${times}`}`),
    leased: () =>
      dueMs !== undefined && dueMs < nowMs
        ? `leased till${at(dueMs)}, and not settled${times && `, after ${times}`}`
        : `leased till${at(dueMs)}${times && `, for attempt ${attempts ?? ''}`}`,
    settled: () => `settled${at(endedAtMs)}${times && `, after ${times}`}`,
    dead: () => `dead${at(endedAtMs)}${times && `, after ${times}`}`,
  }[state]()
  return late === true ? `late, ${words}` : words
}

function at(ms: number | undefined): string {
  return ms === undefined ? '' : ` ${isoTime(ms)}`
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** When an event happened, for people; Unix seconds. */
export function timeText(seconds: number | undefined): string {
  return seconds === undefined ? 'not known' : isoTime(seconds * 1_000)
}

/** For machines: times as ISO, and no field that is not known. */
export function asJson({ stored, type, event }: KnownEvent): object {
  const { id, state, late, attempts, admittedAtMs, dueMs, endedAtMs, error, record } = stored
  const time = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : isoTime(ms))
  return {
    id,
    state,
    late,
    attempts,
    receivedAt: time(record?.receivedAtMs),
    admittedAt: time(admittedAtMs),
    dueAt: time(dueMs),
    endedAt: time(endedAtMs),
    error,
    type,
    event,
  }
}
