/**
 * One message as the memory store knows it: while something of it waits, an object; once all of it is settled, a text. Most
 * of what a store holds are settled messages, for long: as objects they take more than twice the memory, and each object is
 * work for every collection.
 */
import type { FinalReport, MessageLatest } from '../../inbox/latest.ts'
import type { EventRecord, Report } from '../../inbox/record.ts'
import type { NewEvent } from '../../inbox/store.ts'

/** An unsettled event. */
export interface Pending {
  /** Given back by who had not begun it, it awaits no step any more: it is due when it was said to be. */
  event: NewEvent
  late: boolean
  replay: boolean
  attempts: number
  dueMs: number
  /** Of the last claim; 0 before the first. Whoever holds an older one cannot settle. */
  token: number
}

export interface Message {
  readonly key: string
  /** Since when something of it waits. */
  activeSinceMs: number
  /** Unsettled events, sorted by order: only the first can be due. Replaced, not changed: see `NONE`. */
  pending: readonly Pending[]
  /** The identities of the settled ones. Replaced, too. */
  settledIds: readonly string[]
  /** The greatest order handed over; and the same of reports that are not final, which alone make a final one late. */
  handed: string
  handedOpen: string
  /** The chat-app steps seen, as bits. */
  steps: number
  latest: MessageLatest | undefined
  /** While it runs, nothing of this message is handed out. */
  lease: { readonly token: number; readonly untilMs: number } | undefined
  /** Of its entry in the heap; older entries are void. */
  sequence: number
}

/** One of which something waits, or a settled one, packed. */
export type Known = Message | string

/** What most messages have for most of their time: a list that can grow has room for sixteen more, and there are many. */
const NONE: readonly never[] = []

export const NEW_MESSAGE: Message = {
  key: '',
  activeSinceMs: 0,
  pending: NONE,
  settledIds: NONE,
  handed: '',
  handedOpen: '',
  steps: 0,
  latest: undefined,
  lease: undefined,
  sequence: 0,
}

export function hasEvent(known: Known, id: string): boolean {
  if (typeof known === 'string') return known.includes(`\n${narrow(JSON.stringify(id))}\n`)
  return known.settledIds.includes(id) || known.pending.some((pending) => pending.event.id === id)
}

type PackedState = readonly [
  /** Null where it is the order of the newest report, as it mostly is. */
  handed: string | null,
  handedOpen: string,
  steps: number,
  /** By order: all final ones, and the newest, which is the last one, final or not. */
  reports: readonly PackedReport[],
]
type PackedReport = readonly [order: string, final: 0 | 1, record: Values, report: Values | null]
/** In the order of the fields below, without their names. JSON makes null of what is undefined, and no field has one. */
type Values = readonly unknown[]

const RECORD_FIELDS: readonly (keyof EventRecord)[] = [
  'project',
  'kind',
  'timestamp',
  'timestampSource',
  'receivedAtMs',
  'proof',
  'oddities',
  'problem',
  'traceparent',
  'tracestate',
]
const REPORT_FIELDS: readonly (keyof Report)[] = [
  'type',
  'shape',
  'messageId',
  'channel',
  'network',
  'carrier',
  'recipient',
  'status',
  'statusCode',
  'scheduled',
  'failure',
]

/**
 * Of a message of which nothing waits. A line each: when that began, the identities of its events, and the rest; so that what
 * is asked of every one is read without the rest. No JSON has a line break in it.
 */
export function packMessage({ settledIds, handed, handedOpen, steps, latest }: Message, settledAtMs: number): string {
  const finals = latest?.finals ?? NONE
  const isNewestFinal = latest === undefined || finals.at(-1)?.order === latest.order
  const reports: PackedReport[] = []
  for (const { order, record } of isNewestFinal ? finals : [...finals, latest]) {
    const final = reports.length < finals.length ? 1 : 0
    // Written out: a loop over the fields takes five times as long.
    const { project, kind, timestamp, timestampSource, receivedAtMs, proof, oddities, problem, report } = record
    const values: unknown[] = [project, kind, timestamp, timestampSource, receivedAtMs, proof, oddities, problem]
    // At the end, so that where nobody traces they take no room.
    if (record.traceparent !== undefined) values.push(record.traceparent, record.tracestate)
    if (report === undefined) reports.push([order, final, values, null])
    else {
      const { type, shape, messageId, channel, network, carrier, recipient } = report
      const { status, statusCode, scheduled, failure } = report
      const said = [
        type,
        shape,
        messageId,
        channel,
        network,
        carrier,
        recipient,
        status,
        statusCode,
        scheduled,
        failure,
      ]
      reports.push([order, final, values, said])
    }
  }
  const state: PackedState = [handed === latest?.order ? null : handed, handedOpen, steps, reports]
  const ids = settledIds.map((id) => JSON.stringify(id))
  // Joined, not added up: an added text keeps its parts.
  const text = [settledAtMs, ...ids, JSON.stringify(state)].join('\n')
  return WIDE.test(text) ? narrow(text) : text
}

/** Since when nothing waits of a packed message. */
export function settledAtMsOf(text: string): number {
  return Number.parseFloat(text)
}

/** The identities of its events. */
export function packedIds(text: string): readonly string[] {
  // Only `packMessage` writes them.
  return text
    .split('\n')
    .slice(1, -1)
    .map((line) => JSON.parse(line) as string)
}

/** As it was before it was packed. */
export function unpacked(key: string, known: Known): Message {
  if (typeof known !== 'string') return known
  // Only `packMessage` writes it.
  const [handed, handedOpen, steps, packed] = JSON.parse(known.slice(known.lastIndexOf('\n') + 1)) as PackedState
  const reports = packed.map(unpackReport)
  const newest = reports.at(-1)
  const latest = newest && { ...newest, finals: reports.filter((_, index) => packed[index]?.[1] === 1) }
  const settledIds = packedIds(known)
  return { ...NEW_MESSAGE, key, settledIds, handed: handed ?? latest?.order ?? '', handedOpen, steps, latest }
}

function unpackReport([order, , values, reportValues]: PackedReport): FinalReport {
  const record = named<EventRecord>(RECORD_FIELDS, values)
  if (reportValues === null) return { order, record }
  return { order, record: { ...record, report: named<Report>(REPORT_FIELDS, reportValues) } }
}

function named<T extends object>(fields: readonly (keyof T)[], values: Values): T {
  const object: { [K in keyof T]?: unknown } = {}
  for (const [index, value] of values.entries()) {
    const field = fields[index]
    if (field !== undefined && value !== null) object[field] = value
  }
  return object as T
}

const WIDE = /[^\0-\xff]/

/** One letter beyond Latin-1 would make every character two bytes wide; as escapes, only those few grow. */
function narrow(json: string): string {
  const escaped = json.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  // A copy: what was escaped keeps its width.
  return Buffer.from(escaped, 'latin1').toString('latin1')
}
