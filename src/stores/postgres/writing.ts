/** Writes records, each if its stored version is the expected one: one statement for most batches, in one transaction for others. */
import { monotonicMs } from '../../runtime/clock.ts'
import { dueMark } from '../../messages/record.ts'
import type { SharedEngine, VersionedChange } from '../engine.ts'
import { admittedIn, changedIn, isNew, isReplaced, recordColumns, type Written } from '../sql/changes.ts'
import { base64, newNumber } from '../sql/values.ts'
import type { Step } from './connections.ts'
import type { Engine } from './engine.ts'

interface Placed extends Written {
  /** Identifies the change in its statement. */
  readonly place: number
  readonly admitted: ReturnType<typeof admittedIn>
}

export function createWriting({ writes, rows, noteTime }: Engine, change: Engine['change']): SharedEngine['write'] {
  return async (changes, asOfMs) => {
    const sentMs = monotonicMs()
    const answers = (await change(stepsOf(changes, Math.round(asOfMs), writes))).flat()
    const written = answers.filter((row) => row['applied'] !== undefined)
    noteTime(written[0], sentMs)
    const applied = new Set(written.flatMap((row) => rows.digits(row, 'applied').split(' ')))
    return changes.map((_, place) => applied.has(String(place)))
  }
}

function stepsOf(changes: readonly VersionedChange[], asOfMs: number, writes: Engine['writes']): readonly Step[] {
  const written = changes.flatMap((change, place): readonly Placed[] =>
    change.after === null ? [] : [placed({ change, record: change.after }, place)],
  )
  const removed = [...changes.entries()].filter(([, { after }]) => after === null)
  const plain = written.filter(isPlain)
  const special = written.filter((one) => !isPlain(one))
  return [
    stepOf(writes.insert, plain.filter(isNew).map(newRow), asOfMs),
    stepOf(writes.update, plain.filter(isMove).map(knownRow), asOfMs),
    stepOf(writes.report, plain.filter((one) => !isNew(one) && !isMove(one)).map(knownRow), asOfMs),
    stepOf(writes.rewrite, special.map(specialRow), asOfMs, JSON.stringify(besideRows(special))),
    stepOf(
      writes.remove,
      removed.map(([place, { key, expected = '' }]) => ({ place, digest: key, expected: base64(expected) })),
      asOfMs,
    ),
  ].flat()
}

function stepOf(statement: Step['statement'], list: readonly object[], ...values: Step['values']): readonly Step[] {
  return list.length === 0 ? [] : [{ statement, values: [JSON.stringify(list), ...values] }]
}

function placed(written: Written, place: number): Placed {
  return { ...written, place, admitted: admittedIn([written]) }
}

/** Whether only the record, its row in the table of what is due, and one payload change. */
function isPlain({ change, admitted }: Placed): boolean {
  const { before, payloads } = change
  const onlyStores = payloads.every(
    ({ becomes, id }) => becomes === 'stored' && before?.dead.some((dead) => dead.id === id) !== true,
  )
  return onlyStores && admitted.length <= 1 && !isReplaced({ change })
}

/** Whether only the record changes, and its row in the table of what is due exists. */
function isMove({ change, admitted }: Placed): boolean {
  const { before } = change
  return before !== undefined && dueMark(before) !== undefined && admitted.length === 0
}

function newRow(one: Placed) {
  return { number: newNumber(one.record), ...rowOf(one) }
}

function knownRow(one: Placed) {
  return { expected: base64(one.change.expected ?? ''), ...rowOf(one) }
}

/** With the first payload that it admits. */
function rowOf(one: Placed) {
  const [first] = one.admitted
  return { place: one.place, ...recordColumns(one), ...(first && { id: first.id, ...first.columns }) }
}

function specialRow(one: Placed) {
  const row = { ...recordColumns(one), place: one.place, replaces: Number(isReplaced(one)) }
  return isNew(one)
    ? { ...row, number: newNumber(one.record) }
    : { ...row, expected: base64(one.change.expected ?? '') }
}

/** What happens to payloads and dead letters. */
function besideRows(written: readonly Placed[]): readonly object[] {
  const { dead, failed, revived, removed } = changedIn(written)
  const rowOf = (what: string, { one: { place }, id }: { readonly one: Placed; readonly id: string }) => ({
    place,
    what,
    id,
  })
  return [
    ...admittedIn(written).map((each) => ({ ...rowOf('store', each), ...each.columns })),
    ...failed.map((each) => ({ ...rowOf('fail', each), error: each.error })),
    ...removed.map((each) => rowOf('remove', each)),
    ...dead.map((each) => ({ ...rowOf('letter', each), died_at: each.diedAt })),
    ...revived.map((each) => rowOf('revive', each)),
  ]
}
