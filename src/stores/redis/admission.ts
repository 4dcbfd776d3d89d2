/** Taking events in: a script for each, all of a batch in one round trip. */
import { MOST_FINALS } from '../../inbox/latest.ts'
import type { Admission, NewEvent } from '../../inbox/store.ts'
import { encodeRecord } from './encoding.ts'
import type { Engine } from './engine.ts'
import { integer } from './replies.ts'
import { script } from './scripted.ts'
import { ADMIT } from './scripts/admit.ts'

const admitScript = script(ADMIT)
const ADMISSIONS: readonly Admission[] = ['duplicate', 'new', 'late']

type Admit = (events: readonly NewEvent[], nowMs: number) => Promise<readonly Admission[]>

/** `announce` is called when others may have something to do. */
export function createAdmission(engine: Engine, announce: () => void): Admit {
  const { redis, partitions, retention, timeFor, nextCall } = engine

  async function admitOne(event: NewEvent, nowMs: number): Promise<Admission> {
    const { messageKey, id, order, final, step, awaits, gapUntilMs, record, raw } = event
    const reply = await redis.run(
      admitScript,
      [partitions.dueKeyOf(messageKey)],
      [
        timeFor(nowMs),
        messageKey,
        id,
        order,
        final ? '1' : '0',
        step,
        awaits,
        gapUntilMs - nowMs,
        encodeRecord(record),
        raw,
        nextCall(),
        retention.dedupeMs,
        MOST_FINALS,
      ],
    )
    const admission = ADMISSIONS[integer(reply)]
    if (admission === undefined) throw new TypeError('The script answered with something else than an admission.')
    return admission
  }

  return async (events, nowMs) => {
    // After an outage this is how the inbox asks whether the server is back.
    if (events.length === 0) {
      await redis.ask(['PING'])
      return []
    }
    // Where one fails, the others may be in: they are duplicates when they come again, and nothing is lost or doubled.
    const results = await Promise.allSettled(events.map((event) => admitOne(event, nowMs)))
    if (results.some((result) => result.status === 'fulfilled' && result.value !== 'duplicate')) announce()
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
  }
}
