/** What writes change in records, and beside them. */
import { encodeReports, encodeSend, encodeState } from '../../inbox/runtime/codec.ts'
import { overdueMark } from '../../messages/record.ts'
import type { MessageRecord, SendEntry } from '../../messages/record.ts'
import { admittedAtMs } from '../stored.ts'
import type { VersionedChange } from '../../inbox/record-store.ts'
import { isUnreadable } from '../../messages/replay.ts'

/** A record to write. */
export interface Written {
  readonly change: VersionedChange
  /** The record after the change. */
  readonly record: MessageRecord
}

export const isNew = ({ change }: Pick<Written, 'change'>): boolean => change.expected === undefined
/** Whether nothing of the stored record could be read: the write replaces all of it, and what the indexes say of it. */
export const isReplaced = ({ change }: Pick<Written, 'change'>): boolean => isUnreadable(change.before)

/** The first version of a new record: random, so that it differs from versions of an erased record of the same key. */
export const firstVersion = (): number => Math.floor(Math.random() * 2 ** 40)

/** How an engine writes values. */
interface ValueWriter<Value> {
  readonly text: (text: string) => Value
  readonly number: (number: number) => Value
  readonly digest: (digest: string) => Value
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
  const state: Columns<Value> = { state: ({ record }) => text(encodeState(record)) }
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

/** The payloads of events that these writes admit. `one` is the write. */
export function admittedIn<One extends Written>(written: readonly One[]) {
  return written.flatMap((one) =>
    one.change.admitted.map((event) => {
      const { id, record, raw } = event
      // An event that is a dead letter from the start has its error.
      const dead = one.change.payloads.find((change) => change.id === id && change.becomes === 'dead')
      const error = dead?.becomes === 'dead' ? dead.error : undefined
      return { one, id, event: JSON.stringify(record), raw, error, admittedAtMs: admittedAtMs(one.record, event) }
    }),
  )
}

/** The payloads that these writes change: of events that become dead letters, of revived ones, and those that are removed. */
export function changedIn<One extends Written>(written: readonly One[]) {
  const changed = written.flatMap((one) =>
    one.change.payloads.map((payload) => {
      const isIt = ({ id }: { readonly id: string }): boolean => id === payload.id
      return {
        one,
        id: payload.id,
        becomes: payload.becomes,
        wasDead: one.change.before?.dead.some(isIt) === true,
        diedAtMs: Math.floor(one.record.dead.find(isIt)?.diedAtMs ?? 0),
        error: payload.becomes === 'dead' ? payload.error : '',
      }
    }),
  )
  return {
    dead: changed.filter(({ becomes }) => becomes === 'dead'),
    revived: changed.filter(({ becomes, wasDead }) => becomes !== 'dead' && wasDead),
    removed: changed.filter(({ becomes }) => becomes === 'removed'),
  }
}
