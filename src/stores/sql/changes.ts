/** What writes change in records, and beside them, as columns of the JSON lists that statements take. */
import { encodeReports, encodeSend, encodeState } from '../codec.ts'
import { overdueMark, type MessageRecord, type PayloadChange } from '../../messages/record.ts'
import { isUnreadable } from '../../messages/replay.ts'
import type { VersionedChange } from '../engine.ts'
import { admittedIn as admittedBy } from '../stored.ts'
import { dueRowOf } from './due.ts'
import { base64, whole } from './values.ts'

/** A record to write. */
export interface Written {
  readonly change: VersionedChange
  /** The record after the change. */
  readonly record: MessageRecord
}

export const isNew = ({ change }: Pick<Written, 'change'>): boolean => change.expected === undefined
/** Whether the write replaces all of a stored record, and what the indexes say of it. */
export const isReplaced = ({ change }: Pick<Written, 'change'>): boolean => isUnreadable(change.before)

/**
 * The columns of a record in the JSON list of a statement. The reports and the send are null unless the write changes them. Short
 * columns come first, and none is left out: MariaDB reads an object from its beginning to each column.
 */
export function recordColumns({ change, record }: Written) {
  const due = dueRowOf(record)
  const changes = changesSend({ change, record })
  const send = changes ? record.send : undefined
  return {
    digest: change.key,
    version: base64(change.version),
    due_at: due === undefined ? null : whole(due.at),
    held_until: due === undefined ? null : whole(due.heldUntil),
    worker: due?.worker ?? null,
    waiting: due?.waiting ?? null,
    first: due?.first ?? null,
    // Whether the write sets the send and its times, which may be to nothing.
    changes_send: Number(changes),
    sent_at: send === undefined ? null : whole(Math.floor(send.sentAtMs)),
    overdue_at: send === undefined ? null : (overdueMark(record) ?? null),
    send: send === undefined ? null : base64(encodeSend(send)),
    reports: changesReports({ change, record }) ? base64(encodeReports(record)) : null,
    state: base64(encodeState(record)),
  }
}

export const RECORD_COLUMNS = {
  digest: 'digest',
  version: 'text',
  due_at: 'bigint',
  held_until: 'bigint',
  worker: 'bigint',
  waiting: 'integer',
  first: 'digest',
  changes_send: 'integer',
  sent_at: 'bigint',
  overdue_at: 'bigint',
  send: 'text',
  reports: 'text',
  state: 'text',
} as const

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
      const columns = {
        admitted_at: whole(admittedAtMs),
        error: error === undefined ? null : base64(error),
        event: base64(JSON.stringify(record)),
        raw: base64(raw),
      }
      return [{ one, id, columns }]
    })
  })
}

/** The columns of an admitted payload in the JSON list of a statement, beside those that identify it. */
export const PAYLOAD_COLUMNS = { admitted_at: 'bigint', error: 'text', event: 'text', raw: 'text' } as const

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
        diedAt: whole(Math.floor(one.record.dead.find(isIt)?.diedAtMs ?? 0)),
        error: payload.becomes === 'dead' ? base64(payload.error) : '',
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
