/**
 * A record as text: the form in which stores keep it. Lists without field names, because most of what a store holds is settled
 * messages. The first value is the version of the form, the second when its last event ended: both are read without the rest.
 */
import { encodeExpectation, readExpectation } from '../expected.ts'
import { isEventRecord, type EventRecord, type Report } from '../record.ts'
import type { FinalReport, MessageLatest } from '../latest.ts'
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
  const { lease, tokens, dispatchedUpTo, openDispatchedUpTo, steps, latest, waiting, dead, settled, of } = record
  const finals = latest?.finals ?? []
  const reports: Values[] = finals.map((final) => encodeReport(final, 1))
  // The newest report is mostly the last final one, and mostly the last one dispatched.
  if (latest !== undefined && finals.at(-1)?.order !== latest.order) reports.push(encodeReport(latest, 0))
  const hasMore = waiting.length + dead.length > 0 || lease !== undefined || of !== undefined
  // What most writes leave as it is comes last: an engine then logs less of them.
  const values: Values = [
    FORMAT,
    settled.at(-1)?.endedAtMs ?? 0,
    tokens,
    dispatchedUpTo === latest?.order ? null : dispatchedUpTo,
    openDispatchedUpTo === dispatchedUpTo ? null : openDispatchedUpTo,
    steps,
    settled.flatMap(({ id, endedAtMs, attempts, late }) => [id, endedAtMs, 2 * attempts + (late ? 1 : 0)]),
    hasMore
      ? [waiting.map(encodeEntry), dead.map(encodeDead), lease === undefined ? null : encodeLease(lease), of ?? null]
      : 0,
    reports,
  ]
  return JSON.stringify(values)
}

/** When the last event of the record ended. */
export function endedAtMsIn(text: string): number {
  return Number.parseInt(text.slice(3), 10)
}

/** Undefined where the text is corrupt. */
export function decodeRecord(encoded: string): MessageRecord | typeof NEWER | undefined {
  try {
    const [format, , tokens, dispatched, openDispatched, steps, settled, more, reports] = list(JSON.parse(encoded))
    if (Number.isInteger(format) && number(format) > FORMAT) return NEWER
    const latest = decodeLatest(list(reports))
    const dispatchedUpTo = dispatched === null ? (latest?.order ?? '') : text(dispatched)
    const settledRecord = {
      ...EMPTY_RECORD,
      tokens: number(tokens),
      dispatchedUpTo,
      openDispatchedUpTo: openDispatched === null ? dispatchedUpTo : text(openDispatched),
      steps: number(steps),
      latest,
      settled: decodeSettled(list(settled)),
    }
    if (more === 0) return settledRecord
    const [waiting, dead, lease, of] = list(more)
    return {
      ...settledRecord,
      waiting: list(waiting).map((each) => decodeEntry(list(each))),
      dead: list(dead).map((each) => decodeDead(list(each))),
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

function encodeEntry(entry: Entry): unknown[] {
  const { id, order, final, awaits, dueMs, attempts, token, late, replay, admittedAtMs } = entry
  return [
    id,
    order,
    (final ? FINAL : 0) | (late ? LATE : 0) | (replay ? REPLAY : 0),
    awaits,
    dueMs,
    attempts,
    token,
    admittedAtMs,
  ]
}

const FINAL = 1
const LATE = 2
const REPLAY = 4

function decodeEntry([id, order, said, awaits, dueMs, attempts, token, admittedAtMs]: Values): Entry {
  const flags = number(said)
  return {
    id: text(id),
    order: text(order),
    final: (flags & FINAL) !== 0,
    late: (flags & LATE) !== 0,
    replay: (flags & REPLAY) !== 0,
    awaits: number(awaits),
    dueMs: number(dueMs),
    attempts: number(attempts),
    token: number(token),
    admittedAtMs: number(admittedAtMs),
  }
}

function encodeDead(entry: DeadEntry): Values {
  return [...encodeEntry(entry), entry.diedAtMs]
}

function encodeLease({ token, untilMs, worker }: Lease): Values {
  return [token, untilMs, worker]
}

function decodeDead(values: Values): DeadEntry {
  return { ...decodeEntry(values), diedAtMs: number(values.at(-1)) }
}

function decodeLease([token, untilMs, worker]: Values): Lease {
  return { token: number(token), untilMs: number(untilMs), worker: text(worker) }
}

/** Three values for each. */
function decodeSettled(values: Values): readonly SettledEntry[] {
  const settled: SettledEntry[] = []
  for (let at = 0; at < values.length; at += 3) {
    const said = number(values[at + 2])
    settled.push({
      id: text(values[at]),
      endedAtMs: number(values[at + 1]),
      attempts: said >> 1,
      late: said % 2 === 1,
    })
  }
  return settled
}

function encodeReport({ order, record }: FinalReport, final: 0 | 1): Values {
  const { project, kind, timestamp, timestampSource, receivedAtMs, proof, oddities, problem, report } = record
  const values: unknown[] = [project, kind, timestamp, timestampSource, receivedAtMs, proof, oddities, problem]
  // At the end, so that they take no room where there is no trace.
  if (record.traceparent !== undefined) values.push(record.traceparent, record.tracestate)
  if (report === undefined) return [order, final, values]
  const { type, shape, messageId, channel, network, carrier, recipient, status, statusCode, scheduled, failure } =
    report
  const said = [type, shape, messageId, channel, network, carrier, recipient, status, statusCode, scheduled, failure]
  return [order, final, values, said]
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

/** The newest report is the last one, final or not. */
function decodeLatest(reports: Values): MessageLatest | undefined {
  if (reports.length === 0) return undefined
  const decoded = reports.map((each) => decodeReport(list(each)))
  const finals = decoded.filter((_, index) => list(reports[index])[1] === 1)
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
