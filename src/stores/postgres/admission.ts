/** Taking events in: one statement a batch. */
import type { Admission, NewEvent } from '../../inbox/store.ts'
import { encodeRecord, hexOf } from './encoding.ts'
import type { Engine } from './engine.ts'
import { text, truth } from './row.ts'
import { fill } from './sql-text.ts'
import { ADMIT } from './statements/admit.ts'
import { DURABLY } from './statements/durably.ts'

export function createAdmission(
  engine: Engine,
): (events: readonly NewEvent[], nowMs: number) => Promise<readonly Admission[]> {
  const { connections } = engine
  const admit = engine.sql(DURABLY + ADMIT)

  return async (events, nowMs) => {
    // That the server answers is all that an empty batch asks.
    if (events.length === 0) {
      await connections.query('SELECT 1')
      return []
    }
    // Only the first of those that are the same in one batch.
    const distinct = [...new Map(events.toReversed().map((event) => [event.id, event])).values()].toReversed()
    const [, rows = []] = await engine.together(
      fill(admit, {
        now: engine.now(nowMs),
        ids: distinct.map(({ id }) => id),
        keys: distinct.map(({ messageKey }) => messageKey),
        orders: distinct.map(({ order }) => hexOf(order)),
        finals: distinct.map(({ final }) => Number(final)),
        steps: distinct.map(({ step }) => step),
        awaits: distinct.map(({ awaits }) => awaits),
        gaps: distinct.map(({ awaits, gapUntilMs }) => (awaits === 0 ? 0 : gapUntilMs - nowMs)),
        ...pack(distinct),
      }),
    )
    const admitted = new Map(rows.map((row) => [text(row, 'id'), truth(row, 'late')]))
    return events.map(({ id }) => {
      const late = admitted.get(id)
      admitted.delete(id)
      return late === undefined ? 'duplicate' : late ? 'late' : 'new'
    })
  }
}

/** Records and bodies as one value, with places in it. */
function pack(events: readonly NewEvent[]) {
  const parts: Buffer[] = []
  const starts: number[] = []
  const recordEnds: number[] = []
  const bodyEnds: number[] = []
  let end = 0
  for (const { record, raw } of events) {
    const encoded = encodeRecord(record)
    parts.push(encoded, raw)
    starts.push(end)
    recordEnds.push((end += encoded.length))
    bodyEnds.push((end += raw.length))
  }
  return { bytes: Buffer.concat(parts).toString('hex'), starts, recordEnds, bodyEnds }
}
