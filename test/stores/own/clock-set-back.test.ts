/** A store of one's own has no stored time: after a clock was set back and the process restarted, what waits runs all the same. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownStore } from '../../../examples/store-of-your-own.ts'
import { admit, claim, namesOf, sample, samplesOf, settleAll } from '../../../src/store-conformance/samples.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { hostOf } from '../../support/stores.ts'

const HOUR_MS = 3_600_000
/** More than a walk reads at once. */
const MANY = 1_100

async function opened(path: string, aheadMs: number) {
  return ownStore(path).open(hostOf({ nowMs: () => Date.now() + aheadMs }))
}

test('set back by two hours: waiting events, and retries of any number of messages, are due at once', async () => {
  const path = join(ownFolder(), 'events.db')
  const ahead = await opened(path, 2 * HOUR_MS)
  await admit(ahead, samplesOf(MANY))
  const { claims } = await claim(ahead, { limit: MANY })
  await settleAll(ahead, claims, { outcome: 'retry', inMs: 1_000 })
  await admit(ahead, [sample({ message: 'waiting' })])
  await ahead.close()

  const right = await opened(path, 0)
  const names: (string | undefined)[] = []
  for (let isMore = true; isMore;) {
    const { claims: found, nextInMs } = await claim(right, { limit: 400 })
    names.push(...namesOf(found))
    await settleAll(right, found)
    isMore = found.length > 0 || nextInMs === 0
  }
  expect(names).toHaveLength(MANY + 1)
  expect(await right.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  await right.close()
})

test('a retry that waits by the right time goes on waiting', async () => {
  const path = join(ownFolder(), 'events.db')
  const first = await opened(path, 0)
  await admit(first, [sample()])
  await settleAll(first, (await claim(first)).claims, { outcome: 'retry', inMs: HOUR_MS })
  await first.close()

  const next = await opened(path, 0)
  expect(await claim(next)).toMatchObject({ claims: [], nextInMs: 0 })
  // Then it looks once a second, as always.
  expect(await claim(next)).toMatchObject({ claims: [], nextInMs: 1_000 })
  await next.close()
})
