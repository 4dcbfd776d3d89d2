/** Taking events in: one statement a batch. */
import type { Admission, NewEvent } from '../../inbox/store.ts'
import { encodeRecord } from './encoding.ts'
import type { Engine } from './engine.ts'
import { text, truth } from './row.ts'
import { ADMIT } from './statements/admit.ts'

export function createAdmission(
  engine: Engine,
): (events: readonly NewEvent[], nowMs: number) => Promise<readonly Admission[]> {
  const { connections } = engine
  const { lockTimeoutMs, queryTimeoutMs } = connections.limits
  const admit = engine.sql(ADMIT)

  return async (events, nowMs) => {
    // That the server answers is all that an empty batch asks.
    if (events.length === 0) {
      await connections.query('SELECT 1')
      return []
    }
    // Only the first of those that are the same in one batch.
    const distinct = [...new Map(events.toReversed().map((event) => [event.id, event])).values()].toReversed()
    const { bytes, starts, recordEnds, bodyEnds } = pack(distinct)
    const rows = await connections.query(admit, [
      engine.nowParameter(nowMs),
      lockTimeoutMs,
      queryTimeoutMs,
      distinct.map(({ id }) => id),
      distinct.map(({ messageKey }) => messageKey),
      distinct.map(({ order }) => order),
      distinct.map(({ final }) => final),
      distinct.map(({ step }) => step),
      distinct.map(({ awaits }) => awaits),
      distinct.map(({ awaits, gapUntilMs }) => (awaits === 0 ? 0 : Math.ceil(gapUntilMs - nowMs))),
      starts,
      recordEnds,
      bodyEnds,
      bytes,
    ])
    const admitted = new Map(rows.map((row) => [text(row, 'id'), truth(row, 'late')]))
    return events.map(({ id }) => {
      const late = admitted.get(id)
      admitted.delete(id)
      return late === undefined ? 'duplicate' : late ? 'late' : 'new'
    })
  }
}

/** Records and bodies as one value, which travels as it is; each in an array of its own would travel as text. */
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
  return { bytes: Buffer.concat(parts), starts, recordEnds, bodyEnds }
}
