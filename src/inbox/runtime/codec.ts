/**
 * A record as text: the form in which stores keep it. Lists without field names, because most of what a store holds is settled
 * messages. The first value is the version of the form, the second when its last event ended: both are read without the rest.
 */
import { encodeExpectation, readExpectation } from '../../messages/expected.ts'
import { isEventRecord, type EventRecord, type Report } from '../../messages/event-record.ts'
import { identityIn, type FinalReport, type MessageLatest } from '../../messages/order.ts'
import {
  EMPTY_RECORD,
  type DeadEntry,
  type Entry,
  type Lease,
  type MessageRecord,
  type SendEntry,
  type SettledEntry,
} from '../../messages/record.ts'

const FORMAT = 1
/** A record of a later version of this package. */
export const NEWER = 'newer'

type Values = readonly unknown[]

/** Everything but `send`, which is stored beside it. */
export function encodeRecord(record: MessageRecord): string {
  const reports = distinctReports(record.latest)
  return JSON.stringify([...stateValues(record, reports), reportValues(record, reports)])
}

/** What `encodeRecord` makes, of its two parts: a store may keep them apart, for most writes leave the reports as they are. */
export function joinRecord(state: string, reports: string): string {
  return `${state.slice(0, -1)},${reports}]`
}

export function encodeReports(record: MessageRecord): string {
  return JSON.stringify(reportValues(record, distinctReports(record.latest)))
}

/** All but the reports. */
export function encodeState(record: MessageRecord): string {
  return JSON.stringify(stateValues(record, distinctReports(record.latest)))
}

/** The reports that make the latest state, the newest first: an engine then logs less of a write that adds one. */
function reportValues({ latest }: MessageRecord, reports: readonly FinalReport[]): readonly Values[] {
  const finals = latest?.finals.length ?? 0
  const values = reports.map(({ order, record }, place): Values => {
    const { project, kind, timestamp, timestampSource, receivedAtMs, proof, oddities, problem, report } = record
    const isFinal = place < finals ? 1 : 0
    const fields: unknown[] = [project, kind, timestamp, timestampSource, receivedAtMs, proof, oddities, problem]
    // At the end, so that they take no room where there is no trace.
    if (record.traceparent !== undefined) fields.push(record.traceparent, record.tracestate)
    return report === undefined
      ? [order, isFinal, fields]
      : [order, isFinal, fields, REPORT_FIELDS.map((field) => report[field])]
  })
  return values.reverse()
}

/** It names the reports by their places, the oldest first. */
function stateValues(record: MessageRecord, reports: readonly FinalReport[]): Values {
  const { lease, tokens, dispatchedUpTo, steps, latest, waiting, dead, settled, of } = record
  const orders = reports.map(({ order }) => order)
  const ids = orders.map(identityIn)
  const ended: unknown[] = []
  for (const { id, endedAtMs, attempts, late } of settled)
    ended.push(placeOr(id, ids), endedAtMs, 2 * attempts + (late ? 1 : 0))
  const hasMore = waiting.length + dead.length > 0 || lease !== undefined || of !== undefined
  return [
    FORMAT,
    settled.at(-1)?.endedAtMs ?? 0,
    tokens,
    // Mostly the newest report is the last one dispatched.
    dispatchedUpTo === latest?.order ? null : dispatchedUpTo,
    steps,
    ended,
    hasMore
      ? [
          waiting.map((entry) => encodeEntry(entry, orders)),
          dead.map((entry) => encodeDead(entry, orders)),
          lease === undefined ? null : encodeLease(lease),
          of ?? null,
        ]
      : 0,
  ]
}

/** When the last event of the record ended. */
export function endedAtMsIn(text: string): number {
  return Number.parseInt(text.slice(3), 10)
}

/** Whether a later version of this package wrote it. */
export function isNewerRecord(text: string): boolean {
  return Number.parseInt(text.slice(1), 10) > FORMAT
}

/** Undefined where the text is corrupt. */
export function decodeRecord(encoded: string): MessageRecord | typeof NEWER | undefined {
  try {
    const [format, , tokens, dispatched, steps, settled, more, reports] = list(JSON.parse(encoded))
    if (Number.isInteger(format) && number(format) > FORMAT) return NEWER
    const latest = decodeLatest(list(reports))
    const orders = distinctReports(latest).map(({ order }) => order)
    const settledRecord = {
      ...EMPTY_RECORD,
      tokens: number(tokens),
      dispatchedUpTo: dispatched === null ? (latest?.order ?? '') : text(dispatched),
      steps: number(steps),
      latest,
      settled: decodeSettled(list(settled), orders),
    }
    if (more === 0) return settledRecord
    const [waiting, dead, lease, of] = list(more)
    return {
      ...settledRecord,
      waiting: list(waiting).map((each) => decodeEntry(list(each), orders)),
      dead: list(dead).map((each) => decodeDead(list(each), orders)),
      lease: lease === null ? undefined : decodeLease(list(lease)),
      of: of === null ? undefined : text(of),
    }
  } catch {
    return undefined
  }
}

/** Before the text of a send that was told to be overdue. */
const OVERDUE = '1'

/** What was sent, but for its times, which stores index. */
export function encodeSend({ expectation, wasOverdue }: SendEntry): string {
  return `${wasOverdue ? OVERDUE : '0'}${encodeExpectation(expectation).toString('utf8')}`
}

/** Undefined where the text is corrupt. */
export function decodeSend(encoded: string, times: Pick<SendEntry, 'sentAtMs' | 'overdueAtMs'>): SendEntry | undefined {
  const expectation = readExpectation(Buffer.from(encoded.slice(1)))
  return expectation && { expectation, ...times, wasOverdue: encoded.startsWith(OVERDUE) }
}

/** The reports of the latest state, the oldest first. The newest is mostly a final one. */
function distinctReports(latest: MessageLatest | undefined): readonly FinalReport[] {
  if (latest === undefined) return []
  return latest.finals.at(-1)?.order === latest.order ? latest.finals : [...latest.finals, latest]
}

/** The place of a text among those of the reports, which takes less room; the text where it is none of them. */
function placeOr(text: string, texts: readonly string[]): number | string {
  const place = texts.lastIndexOf(text)
  return place === -1 ? text : place
}

function atPlace(value: unknown, texts: readonly string[]): string {
  return text(typeof value === 'number' ? texts[value] : value)
}

function encodeEntry(entry: Entry, orders: readonly string[]): unknown[] {
  const { id, order, awaits, dueMs, attempts, token, late, replay, admittedAtMs } = entry
  const flags = (late ? LATE : 0) | (replay ? REPLAY : 0)
  const identity = identityIn(order) === id ? null : id
  return [identity, placeOr(order, orders), flags, awaits, dueMs, attempts, token, admittedAtMs]
}

const LATE = 1
const REPLAY = 2

function decodeEntry(
  [id, place, said, awaits, dueMs, attempts, token, admittedAtMs]: Values,
  orders: readonly string[],
): Entry {
  const flags = number(said)
  const order = atPlace(place, orders)
  return {
    id: id === null ? identityIn(order) : text(id),
    order,
    late: (flags & LATE) !== 0,
    replay: (flags & REPLAY) !== 0,
    awaits: number(awaits),
    dueMs: number(dueMs),
    attempts: number(attempts),
    token: number(token),
    admittedAtMs: number(admittedAtMs),
  }
}

function encodeDead(entry: DeadEntry, orders: readonly string[]): Values {
  return [...encodeEntry(entry, orders), entry.diedAtMs]
}

function encodeLease({ token, untilMs, worker, dispatchedBefore }: Lease): Values {
  return [token, untilMs, worker, dispatchedBefore]
}

function decodeDead(values: Values, orders: readonly string[]): DeadEntry {
  return { ...decodeEntry(values, orders), diedAtMs: number(values.at(-1)) }
}

function decodeLease([token, untilMs, worker, dispatchedBefore]: Values): Lease {
  return {
    token: number(token),
    untilMs: number(untilMs),
    worker: text(worker),
    dispatchedBefore: text(dispatchedBefore),
  }
}

/** Three values for each. */
function decodeSettled(values: Values, orders: readonly string[]): readonly SettledEntry[] {
  const settled: SettledEntry[] = []
  const ids = orders.map(identityIn)
  for (let at = 0; at < values.length; at += 3) {
    const said = number(values[at + 2])
    settled.push({
      id: atPlace(values[at], ids),
      endedAtMs: number(values[at + 1]),
      attempts: said >> 1,
      late: said % 2 === 1,
    })
  }
  return settled
}

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

/** The newest report is the first one, final or not. */
function decodeLatest(reports: Values): MessageLatest | undefined {
  if (reports.length === 0) return undefined
  const oldestFirst = reports.toReversed()
  const decoded = oldestFirst.map((each) => decodeReport(list(each)))
  const finals = decoded.filter((_, index) => list(oldestFirst[index])[1] === 1)
  const newest = decoded.at(-1)
  return newest && { ...newest, finals }
}

function decodeReport([order, , values, said]: Values): FinalReport {
  const record: unknown = {
    ...named(RECORD_FIELDS, list(values)),
    ...(said !== undefined && { report: named(REPORT_FIELDS, list(said)) }),
  }
  if (!isEventRecord(record)) throw new TypeError('This is no record of an event.')
  return { order: text(order), record }
}

/** JSON makes null of what is undefined, and no field has one. */
function named(fields: readonly string[], values: Values): Readonly<Record<string, unknown>> {
  const object: Record<string, unknown> = {}
  for (const [index, value] of values.entries()) {
    const field = fields[index]
    if (field !== undefined && value !== null) object[field] = value
  }
  return object
}

function list(value: unknown): Values {
  if (!Array.isArray(value)) throw new TypeError('This is no list.')
  return value
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new TypeError('This is no number.')
  return value
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('This is no text.')
  return value
}
