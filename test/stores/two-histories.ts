/**
 * After a failover to a standby that lacks the last commits, or a restore, a process remembers records that the tables do not have.
 * It must not overwrite what other processes wrote since. What the SQL stores share.
 */
import type { Store } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { admit, claim, eventOf, observer, opened, settleAll } from './postgres/events.ts'

interface Restorable {
  readonly store: Store<object>
  /** Copies the tables with records, and puts the copies back. */
  readonly save: () => Promise<void>
  readonly restore: () => Promise<void>
}

export function testTwoHistories(fresh: () => Restorable): void {
  test.each([
    ['settles', [1, 2]],
    ['admits', [1, 2, 3]],
  ] as const)('a process whose last writes were lost %s, and loses no event of others', async (does, places) => {
    const { store, save, restore } = fresh()
    const [first, other] = [await opened(store), await observer(store)]
    await admit(first, [eventOf('m', 1)])
    await save()
    const lost = await claim(first)
    expect(lost).toHaveLength(1)
    await restore()
    // As many writes as were lost.
    expect(await admit(other, [eventOf('m', 2)])).toEqual(['new'])
    if (does === 'settles') expect(await settleAll(first, lost)).toEqual([false])
    else expect(await admit(first, [eventOf('m', 3)])).toEqual(['new'])

    const run: string[] = []
    await expect
      .poll(
        async () => {
          const claims = await claim(first)
          run.push(...claims.map(({ id }) => id))
          await settleAll(first, claims)
          return first.counts()
        },
        { timeout: 30_000 },
      )
      .toEqual({ unsettled: 0, deadLetters: 0 })
    expect(run).toEqual(places.map((at) => eventOf('m', at).id))
  })
}
