/** What a store keeps of an event, as an event, in words and as JSON. Nothing replaces what it no longer keeps. */
import { systemClock } from '../runtime/clock.ts'
import { storedType } from '../dispatch/listed-events.ts'
import { revive, type Kept, type ReviveOptions } from '../dispatch/revive.ts'
import type { WebhookEvent } from '../public/events.ts'
import type { EventRecord } from '../messages/event-record.ts'
import type { Awaitable, StoredEvent } from '../inbox/store.ts'
import { aboutOf, reportWords } from './event-line.ts'
import { aligned, shown, type Terminal } from './terminal.ts'

/** The command line knows no schemas of the user's and no `subscriptionType`. */
const REVIVING: ReviveOptions = {
  clock: systemClock(),
  schemas: {},
  subscriptionType: undefined,
  late: 'separate',
  schemaTimeoutMs: 1_000,
}

export function eventOf(kept: Kept): Awaitable<WebhookEvent> {
  return revive(kept, REVIVING)
}

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
  // As itself: the line says beside it whether it came too late.
  if (raw === undefined) {
    const type = storedType({ ...stored, late: false }, REVIVING) ?? record.kind
    return { stored, type, about: wordsIn(record), event: undefined }
  }
  const event = await eventOf({ id, late: false, record, raw })
  return { stored, type: event.type, about: aboutOf(event), event }
}

/** What it is about, where its bytes are not kept. */
function wordsIn({ report, problem, project, overdue, unknownSend }: EventRecord): readonly string[] {
  const of = project === undefined ? [] : [`[${project}]`]
  if (overdue === true || unknownSend === true) return of
  if (report !== undefined) return [...reportWords(report), ...of]
  return problem === undefined ? of : [problem, ...of]
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

/** One event in full: its fields in two columns, then its payload and, if there is one, its error. */
export function printDetails(
  fields: Readonly<Record<string, string | undefined>>,
  { payload, error }: { readonly payload: unknown; readonly error: string | undefined },
  terminal: Terminal,
): void {
  const { bold } = terminal.colours
  const rows = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[bold(name), shown(value)]],
  )
  for (const line of aligned(rows)) terminal.print(line)
  if (payload !== undefined) printUnder('payload', JSON.stringify(payload, undefined, 2), terminal)
  if (error !== undefined) printUnder('error', error, terminal)
}

function printUnder(title: string, text: string, { print, colours }: Terminal): void {
  print(colours.bold(title))
  for (const line of text.split('\n')) print(`  ${shown(line)}`, 'whole')
}
