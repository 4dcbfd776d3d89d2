/** Which callbacks are the same event: every identity vector, by the events' ids and by what is dispatched. */
import { vectors, type IdentityVector } from 'messaging-webhooks/vectors'
import { expect, test } from 'vitest'
import { taking } from '../support/vectors.ts'

test.each(vectors.identity)('$name', async (vector) => {
  expect(await idsOf(vector)).toEqual(expectedIds(vector))
  const { receiver, dispatched, take } = receiverFor(vector)
  for (const callback of vector.groups.flat()) await take(callback)
  await receiver.drain()
  expect(dispatched).toHaveLength(vector.groups.length)
  expect(await receiver.stats()).toMatchObject({ duplicates: vector.groups.flat().length - vector.groups.length })
})

function receiverFor({ clock }: IdentityVector) {
  return taking({ clock: () => clock * 1_000, ordering: { gapTimeoutMs: 0 } })
}

/** For each callback the number of the first one with its idempotency key, as found by receivers that have seen no other. */
async function idsOf(vector: IdentityVector): Promise<readonly number[]> {
  const ids: (string | undefined)[] = []
  for (const callback of vector.groups.flat()) {
    const { receiver, dispatched, take } = receiverFor(vector)
    await take(callback)
    await receiver.drain()
    ids.push(dispatched[0]?.id)
  }
  expect(ids).not.toContain(undefined)
  return ids.map((id) => ids.indexOf(id))
}

function expectedIds({ groups }: IdentityVector): readonly number[] {
  const numbers = groups.flatMap((group, number) => group.map(() => number))
  return numbers.map((number) => numbers.indexOf(number))
}
