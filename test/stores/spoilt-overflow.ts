/** A record of one event that found no room in that of its message stays one of that message, though it cannot be read any more. */
import type { Store } from 'messaging-webhooks'
import { expect } from 'vitest'
import { MOST_EVENTS } from '../../src/messages/record.ts'
import { admit, allOf, claim, list, sample, START_MS } from '../../src/store-conformance/samples.ts'
import { settleAll } from '../../src/store-conformance/steps.ts'

/** The last one found no room. */
export const REPORTS = Array.from({ length: MOST_EVENTS + 1 }, (_, at) => sample({ at: at + 1 }))
export const OVERFLOWING = sample({ at: MOST_EVENTS + 1 }).id

/** `spoil`: makes the text of the record with this key unreadable. */
export async function checkSpoiltOverflow(
  store: Store<object>,
  spoil: (key: string) => Promise<void> | void,
): Promise<void> {
  const open = await store.open({ onWork() {}, report() {} })
  const { messageKey } = sample()
  try {
    await admit(open, REPORTS)
    await spoil(OVERFLOWING)
    const claimed = (await claim(open)).claims.find(({ id }) => id === OVERFLOWING)
    if (claimed === undefined) throw new Error('It is due again.')
    expect(await open.latest(OVERFLOWING), 'it has no order of its own').toBeUndefined()
    await settleAll(open, [claimed])
    const listed = await allOf((after) => list(open, { messageKey, after }))
    expect(listed.map(({ id }) => id)).toContain(OVERFLOWING)
    const erased = await open.forget({ targets: [{ messageKey }], dryRun: false }, START_MS)
    expect(erased).toMatchObject({ events: MOST_EVENTS + 1, unsettled: MOST_EVENTS })
  } finally {
    await open.close()
  }
}
