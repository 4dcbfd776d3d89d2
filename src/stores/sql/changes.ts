/** What writes change in records, and beside them. */
import { encodeReports, encodeSend, encodeState } from '../codec.ts'
import { overdueMark } from '../../messages/record.ts'
import type { MessageRecord, PayloadChange, SendEntry } from '../../messages/record.ts'
import { isUnreadable } from '../../messages/replay.ts'
import type { VersionedChange } from '../engine.ts'
import { admittedIn as admittedBy } from '../stored.ts'

/** A record to write. */
export interface Written {
  readonly change: VersionedChange
  /** The record after the change. */
  readonly record: MessageRecord
}

export const isNew = ({ change }: Pick<Written, 'change'>): boolean => change.expected === undefined
/** Whether the write replaces all of a stored record, and what the indexes say of it. */
export const isReplaced = ({ change }: Pick<Written, 'change'>): boolean => isUnreadable(change.before)

/** How an engine writes values. */
interface ValueWriter<Value> {
  readonly text: (text: string) => Value
  readonly number: (number: number) => Value
  /** The value of a column without one. */
  readonly none: Value
}

type Columns<Value> = Readonly<Record<string, (one: Written) => Value>>

/** Writes the columns of these records. Leaves out the reports and the send if no record changes them, as in most writes. */
export function createColumns<Value>({ text, number, none }: ValueWriter<Value>) {
  const orNone = <T>(value: T | undefined, write: (known: T) => Value): Value =>
    value === undefined ? none : write(value)

  const encoded = (send: SendEntry): Value => text(encodeSend(send))
  const sentAt = ({ sentAtMs }: SendEntry): Value => number(Math.floor(sentAtMs))
  const state: Columns<Value> = {
    version: ({ change }) => text(change.version),
    state: ({ record }) => text(encodeState(record)),
  }
  const reports: Columns<Value> = { reports: ({ record }) => text(encodeReports(record)) }
  const send: Columns<Value> = {
    send: ({ record }) => orNone(record.send, encoded),
    sent_at: ({ record }) => orNone(record.send, sentAt),
    overdue_at: ({ record }) => orNone(overdueMark(record), number),
  }

  return (written: readonly Written[]): Columns<Value> => ({
    ...state,
    ...(written.some(changesReports) && reports),
    ...(written.some(changesSend) && send),
  })
}

function changesReports({ change, record }: Written): boolean {
  return change.before === undefined || change.before.latest !== record.latest || isReplaced({ change })
}

function changesSend({ change, record }: Written): boolean {
  return change.before?.send !== record.send || isReplaced({ change })
}

/** Of several changes to one payload, the last one counts. */
function lastOf({ payloads }: VersionedChange): ReadonlyMap<string, PayloadChange> {
  return new Map(payloads.map((payload) => [payload.id, payload]))
}

/** The payloads of events that these writes admit. `one` is the write. An event may become a dead letter as it is admitted. */
export function admittedIn<One extends Written>(written: readonly One[]) {
  return written.flatMap((one) => {
    const last = lastOf(one.change)
    return admittedBy(one.change).flatMap(({ event: { id, record, raw }, admittedAtMs }) => {
      const now = last.get(id)
      if (now?.becomes === 'removed') return []
      const error = now?.becomes === 'dead' ? now.error : undefined
      return [{ one, id, event: JSON.stringify(record), raw, admittedAtMs, error }]
    })
  })
}

/**
 * The payloads that these writes change: of events that become dead letters (`failed`: those that were stored before), of
 * revived ones, and those that are removed.
 */
export function changedIn<One extends Written>(written: readonly One[]) {
  const changed = written.flatMap((one) => {
    const { before, payloads } = one.change
    return [...lastOf(one.change).values()].map((payload) => {
      const isIt = ({ id }: { readonly id: string }): boolean => id === payload.id
      return {
        one,
        id: payload.id,
        becomes: payload.becomes,
        isNew: payloads.some((each) => isIt(each) && each.becomes === 'stored'),
        wasDead: before?.dead.some(isIt) === true,
        diedAtMs: Math.floor(one.record.dead.find(isIt)?.diedAtMs ?? 0),
        error: payload.becomes === 'dead' ? payload.error : '',
      }
    })
  })
  const dead = changed.filter(({ becomes }) => becomes === 'dead')
  return {
    dead,
    failed: dead.filter((each) => !each.isNew),
    revived: changed.filter(({ becomes, wasDead }) => becomes !== 'dead' && wasDead),
    removed: changed.filter(({ becomes }) => becomes === 'removed'),
  }
}
