/** Writes records, each if its stored version is the expected one: one statement for most batches, in one transaction for others. */
import { monotonicMs } from '../../runtime/clock.ts'
import { dueMark } from '../../messages/record.ts'
import type { SharedEngine, VersionedChange } from '../engine.ts'
import { admittedIn, changedIn, isNew, isReplaced, recordColumns, type Written } from '../sql/changes.ts'
import { base64, newNumber } from '../sql/values.ts'
import type { Engine } from './engine.ts'
import type { Step } from './sessions.ts'

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
  const placed = changes.flatMap((change, place): readonly Placed[] => {
    if (change.after === null) return []
    const written = { change, record: change.after }
    return [{ ...written, place, admitted: admittedIn([written]) }]
  })
  const byWay = Map.groupBy(placed, wayOf)
  const removed = [...changes.entries()].filter(([, { after }]) => after === null)
  const special = byWay.get('rewrite') ?? []
  return [
    stepOf(writes.insert, (byWay.get('insert') ?? []).map(rowWithPayload), asOfMs),
    stepOf(writes.update, (byWay.get('update') ?? []).map(recordRow), asOfMs),
    stepOf(writes.report, (byWay.get('report') ?? []).map(rowWithPayload), asOfMs),
    stepOf(
      writes.rewrite,
      special.map((one) => ({ ...recordRow(one), replaces: Number(isReplaced(one)) })),
      asOfMs,
      JSON.stringify(besideRows(special)),
    ),
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

/** The statement that writes a change. All but one write no more than the record, its row of what is due, and one payload. */
function wayOf({ change, admitted }: Placed): 'insert' | 'update' | 'report' | 'rewrite' {
  const { before, payloads } = change
  const onlyStores = payloads.every(
    ({ becomes, id }) => becomes === 'stored' && before?.dead.some((dead) => dead.id === id) !== true,
  )
  if (!onlyStores || admitted.length > 1 || isReplaced({ change })) return 'rewrite'
  if (before === undefined) return 'insert'
  // Its row of what is due exists.
  return dueMark(before) !== undefined && admitted.length === 0 ? 'update' : 'report'
}

function recordRow(one: Placed) {
  const { place, change, record } = one
  const identity = isNew(one) ? { number: newNumber(record) } : { expected: base64(change.expected ?? '') }
  return { place, ...identity, ...recordColumns(one) }
}

/** With the payload that it admits. */
function rowWithPayload(one: Placed) {
  const [first] = one.admitted
  return { ...recordRow(one), ...(first && { id: first.id, ...first.columns }) }
}

/** What happens to payloads and dead letters. */
function besideRows(written: readonly Placed[]): readonly object[] {
  const { dead, failed, revived, removed } = changedIn(written)
  const rowFor = (what: string, { one: { place }, id }: { readonly one: Placed; readonly id: string }) => ({
    place,
    what,
    id,
  })
  return [
    ...admittedIn(written).map((each) => ({ ...rowFor('store', each), ...each.columns })),
    ...failed.map((each) => ({ ...rowFor('fail', each), error: each.error })),
    ...removed.map((each) => rowFor('remove', each)),
    ...dead.map((each) => ({ ...rowFor('letter', each), died_at: each.diedAt })),
    ...revived.map((each) => rowFor('revive', each)),
  ]
}
