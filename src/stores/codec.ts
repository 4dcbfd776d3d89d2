/**
 * The stored form of a record: JSON lists without field names, to keep the many settled messages small. The format number comes
 * first, then the end of the last event; both can be read without the rest.
 */
import { encodeExpectation, readExpectation } from '../messages/expected.ts'
import { EVENT_FIELDS, isEventRecord, RARE_FIELDS, REPORT_FIELDS } from '../messages/event-record.ts'
import { namesOf } from '../messages/fields.ts'
import { identityIn, type FinalReport, type MessageLatest } from '../messages/order.ts'
import {
  EMPTY_RECORD,
  type DeadEntry,
  type Entry,
  type Lease,
  type MessageRecord,
  type SendEntry,
  type SettledEntry,
} from '../messages/record.ts'

/** Another number for every change after which a stored record would be misread. */
const FORMAT = 2
type Values = readonly unknown[]

/** Encodes everything but `send`, which is stored separately. */
export function encodeRecord(record: MessageRecord): string {
  const reports = distinctReports(record.latest)
  return JSON.stringify([...stateValues(record, reports), reportValues(record, reports)])
}

/** Joins the two parts of `encodeRecord`. A store may keep them apart, because most writes leave the reports unchanged. */
export function joinRecord(state: string, reports: string): string {
  return `${state.slice(0, -1)},${reports}]`
}

export function encodeReports(record: MessageRecord): string {
  return JSON.stringify(reportValues(record, distinctReports(record.latest)))
}

/** Encodes everything but the reports. */
export function encodeState(record: MessageRecord): string {
  return JSON.stringify(stateValues(record, distinctReports(record.latest)))
}

/**
 * The reports behind the latest state, newest first, so that an engine logs less for a write that adds one. Each is one flat
 * list, because a nested list costs as much as ten values. Bits say which rare values it has. The fields of the report come
 * last, and those at the end are omitted if they are undefined: a record that was stored before a field was added lacks it.
 */
function reportValues({ latest }: MessageRecord, reports: readonly FinalReport[]): readonly Values[] {
  const finals = latest?.finals.length ?? 0
  const lists = reports.map(({ order, record }, place) => {
    const values: unknown[] = [order, 0]
    let bits = place < finals ? FINAL : 0
    for (const name of EVENT_NAMES) values.push(record[name])
    for (const { name, bit } of RARE) {
      if (record[name] === undefined) continue
      bits |= bit
      values.push(record[name])
    }
    values[1] = bits
    for (const name of REPORT_NAMES) values.push(record.report?.[name])
    while (values.at(-1) === undefined) values.pop()
    return values
  })
  return lists.reverse()
}

const FINAL = 1
const EVENT_NAMES = namesOf(EVENT_FIELDS)
const REPORT_NAMES = namesOf(REPORT_FIELDS)
const RARE = namesOf(RARE_FIELDS).map((name, index) => ({ name, bit: 2 << index }))

/** Refers to reports by index, oldest first. */
function stateValues(record: MessageRecord, reports: readonly FinalReport[]): Values {
  const { lease, tokens, dispatchedUpTo, steps, latest, waiting, dead, settled } = record
  const orders = reports.map(({ order }) => order)
  const ids = orders.map(identityIn)
  const lastEndedAtMs = settled.at(-1)?.endedAtMs ?? 0
  const ended: unknown[] = []
  for (const { id, endedAtMs, attempts, late } of settled)
    ended.push(placeOr(id, ids), lastEndedAtMs - endedAtMs, 2 * attempts + (late ? 1 : 0))
  const hasMore = waiting.length + dead.length > 0 || lease !== undefined
  return [
    FORMAT,
    lastEndedAtMs,
    tokens,
    // The newest report is usually the last one dispatched.
    dispatchedUpTo === latest?.order ? null : dispatchedUpTo,
    steps,
    ended,
    hasMore
      ? [
          waiting.map((entry) => encodeEntry(entry, orders)),
          dead.map((entry) => encodeDead(entry, orders)),
          lease === undefined ? null : encodeLease(lease),
        ]
      : 0,
  ]
}

/** When the last event of the record ended. */
export function endedAtMsIn(text: string): number {
  return Number.parseInt(text.slice(3), 10)
}

/** Undefined if the text is corrupt. */
export function decodeRecord(encoded: string): MessageRecord | undefined {
  try {
    const [format, ended, tokens, dispatched, steps, settled, more, reports] = list(JSON.parse(encoded))
    if (format !== FORMAT) return undefined
    const latest = decodeLatest(list(reports))
    const orders = distinctReports(latest).map(({ order }) => order)
    const settledRecord = {
      ...EMPTY_RECORD,
      tokens: number(tokens),
      dispatchedUpTo: dispatched === null ? (latest?.order ?? '') : text(dispatched),
      steps: number(steps),
      latest,
      settled: decodeSettled(list(settled), number(ended), orders),
    }
    if (more === 0) return settledRecord
    const [waiting, dead, lease] = list(more)
    return {
      ...settledRecord,
      waiting: list(waiting).map((each) => decodeEntry(list(each), orders)),
      dead: list(dead).map((each) => decodeDead(list(each), orders)),
      lease: lease === null ? undefined : decodeLease(list(lease)),
    }
  } catch {
    return undefined
  }
}

/** Prefix of a send that was reported as overdue. */
const OVERDUE = '1'

/** Encodes a send without its times, which stores index. */
export function encodeSend({ expectation, wasOverdue }: SendEntry): string {
  return `${wasOverdue ? OVERDUE : '0'}${encodeExpectation(expectation).toString('utf8')}`
}

/** Undefined if the text is corrupt. */
export function decodeSend(encoded: string, times: Pick<SendEntry, 'sentAtMs' | 'overdueAtMs'>): SendEntry | undefined {
  const expectation = readExpectation(Buffer.from(encoded.slice(1)))
  return expectation && { expectation, ...times, wasOverdue: encoded.startsWith(OVERDUE) }
}

/** The reports of the latest state, oldest first. The newest is usually final. */
function distinctReports(latest: MessageLatest | undefined): readonly FinalReport[] {
  if (latest === undefined) return []
  return latest.finals.at(-1)?.order === latest.order ? latest.finals : [...latest.finals, latest]
}

/** The index of a string among those of the reports, to save space, or the string itself. */
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
  [id, place, bits, awaits, dueMs, attempts, token, admittedAtMs]: Values,
  orders: readonly string[],
): Entry {
  const flags = number(bits)
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

function encodeLease({ token, untilMs, worker }: Lease): Values {
  return [token, untilMs, worker]
}

function decodeDead(values: Values, orders: readonly string[]): DeadEntry {
  return { ...decodeEntry(values, orders), diedAtMs: number(values.at(-1)) }
}

function decodeLease([token, untilMs, worker]: Values): Lease {
  return { token: number(token), untilMs: number(untilMs), worker: text(worker) }
}

/** Three values per event. */
function decodeSettled(values: Values, lastEndedAtMs: number, orders: readonly string[]): readonly SettledEntry[] {
  const settled: SettledEntry[] = []
  const ids = orders.map(identityIn)
  for (let at = 0; at < values.length; at += 3) {
    const bits = number(values[at + 2])
    settled.push({
      id: atPlace(values[at], ids),
      endedAtMs: lastEndedAtMs - number(values[at + 1]),
      attempts: bits >> 1,
      late: bits % 2 === 1,
    })
  }
  return settled
}

/** The newest report is stored first, final or not. */
function decodeLatest(reports: Values): MessageLatest | undefined {
  if (reports.length === 0) return undefined
  const oldestFirst = reports.toReversed()
  const decoded = oldestFirst.map((each) => decodeReport(list(each)))
  const finals = decoded.filter((_, index) => (number(list(oldestFirst[index])[1]) & FINAL) !== 0)
  const newest = decoded.at(-1)
  return newest && { ...newest, finals }
}

function decodeReport(values: Values): FinalReport {
  const record: Record<string, unknown> = {}
  const report: Record<string, unknown> = {}
  const bits = number(values[1])
  let at = 2
  function read(name: string, into: Record<string, unknown>): void {
    const value = values[at++] ?? undefined
    if (value !== undefined) into[name] = value
  }
  for (const name of EVENT_NAMES) read(name, record)
  for (const { name, bit } of RARE) if ((bits & bit) !== 0) read(name, record)
  for (const name of REPORT_NAMES) read(name, report)
  if (report['type'] !== undefined) record['report'] = report
  if (!isEventRecord(record)) throw new TypeError('Not an event record.')
  return { order: text(values[0]), record }
}

function list(value: unknown): Values {
  if (!Array.isArray(value)) throw new TypeError('Not a list.')
  return value
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new TypeError('Not a number.')
  return value
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('Not a string.')
  return value
}
