/**
 * A settled message as one text. Most of what a store holds are settled messages, for long: as objects they take more than
 * twice the memory, and each object is work for every collection.
 */
import type { FinalReport, MessageLatest } from '../../inbox/latest.ts'
import type { EventRecord, Report } from '../../inbox/record.ts'
import { newMessage, type Message } from './message.ts'

type WithoutReport = Omit<EventRecord, 'report'>

/** What is written are the values, in this order, and no names. */
const RECORD_FIELDS = fieldsOf<WithoutReport>({
  project: true,
  kind: true,
  timestamp: true,
  timestampSource: true,
  receivedAtMs: true,
  proof: true,
  oddities: true,
  problem: true,
})
const REPORT_FIELDS = fieldsOf<Report>({
  type: true,
  shape: true,
  messageId: true,
  channel: true,
  network: true,
  carrier: true,
  recipient: true,
  status: true,
  statusCode: true,
  scheduled: true,
  failure: true,
})

/** Where one is missing, it does not compile. */
function fieldsOf<T extends object>(fields: Readonly<Record<keyof T, true>>): readonly (keyof T)[] {
  // The keys of this very literal.
  return Object.keys(fields) as (keyof T)[]
}

type PackedState = readonly [
  /** Null where it is the order of the newest report, as it mostly is. */
  handed: string | null,
  handedOpen: string,
  steps: number,
  /** By order: all final ones, and the newest, which is the last one, final or not. */
  ...reports: readonly PackedReport[],
]
type PackedReport = readonly [order: string, final: 0 | 1, record: Values, report: Values | null]
/** JSON makes null of what is undefined, and no field has a null of its own. */
type Values = readonly unknown[]

/**
 * Of a message of which nothing waits. A line each: when that began, how many events it is, their identities, and the rest;
 * so that what is asked of every one is read without the rest. No JSON has a line break in it.
 */
export function packMessage(message: Message, settledAtMs: number): string {
  const { settledIds, handed, handedOpen, steps, latest } = message
  const state = [handed === latest?.order ? null : handed, handedOpen, steps] as const
  const packed: PackedState = [...state, ...packReports(latest)]
  const ids = settledIds.map((id) => JSON.stringify(id))
  // Joined, not added up: an added text keeps its parts.
  return narrow([settledAtMs, settledIds.length, ...ids, JSON.stringify(packed)].join('\n'))
}

function packReports(latest: MessageLatest | undefined): readonly PackedReport[] {
  if (latest === undefined) return []
  const finals = latest.finals.map((final) => packReport(final, 1))
  return latest.finals.at(-1)?.order === latest.order ? finals : [...finals, packReport(latest, 0)]
}

function packReport({ order, record }: FinalReport, final: 0 | 1): PackedReport {
  const { report } = record
  return [order, final, valuesOf(RECORD_FIELDS, record), report === undefined ? null : valuesOf(REPORT_FIELDS, report)]
}

function valuesOf<T>(fields: readonly (keyof T)[], from: T): Values {
  return fields.map((field) => from[field])
}

/** Since when nothing waits of a packed message. */
export function settledAtMsOf(text: string): number {
  return Number.parseFloat(text)
}

/** How many settled events a packed message is. */
export function packedEvents(text: string): number {
  return Number.parseInt(text.slice(text.indexOf('\n') + 1))
}

/** Their identities. */
export function packedIds(text: string): readonly string[] {
  // Only `packMessage` writes them.
  return text
    .split('\n')
    .slice(2, -1)
    .map((line) => JSON.parse(line) as string)
}

/** Whether this is one of them. */
export function isPacked(text: string, id: string): boolean {
  return text.includes(`\n${narrow(JSON.stringify(id))}\n`)
}

export function unpackMessage(key: string, text: string): Message {
  // Only `packMessage` writes it.
  const [handed, handedOpen, steps, ...packed] = JSON.parse(text.slice(text.lastIndexOf('\n') + 1)) as PackedState
  const latest = unpackReports(packed)
  const settledIds = packedIds(text)
  return { ...newMessage(key), settledIds, handed: handed ?? latest?.order ?? '', handedOpen, steps, latest }
}

function unpackReports(packed: readonly PackedReport[]): MessageLatest | undefined {
  const reports = packed.map(unpackReport)
  const newest = reports.at(-1)
  return newest && { ...newest, finals: reports.filter((_, index) => packed[index]?.[1] === 1) }
}

function unpackReport([order, , values, reportValues]: PackedReport): FinalReport {
  const record = named<WithoutReport>(RECORD_FIELDS, values)
  if (reportValues === null) return { order, record }
  return { order, record: { ...record, report: named<Report>(REPORT_FIELDS, reportValues) } }
}

function named<T extends object>(fields: readonly (keyof T)[], values: Values): T {
  const object: { [K in keyof T]?: unknown } = {}
  for (const [index, field] of fields.entries()) if (values[index] !== null) object[field] = values[index]
  return object as T
}

/** One letter beyond Latin-1 would make every character two bytes wide; as escapes, only those few grow. */
function narrow(json: string): string {
  const escaped = json.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  // A copy: what was escaped keeps its width.
  return escaped === json ? json : Buffer.from(escaped, 'latin1').toString('latin1')
}
