import { memoryStore } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { fakeClock } from '../../support/fake-clock.ts'
import { inboxOver } from '../../support/inbox.ts'

test('prunes once a minute, again after a second while there is something to erase, and not when closed', async () => {
  const clock = fakeClock()
  const answers: (number | Error)[] = [5, 5, 0, new Error('unavailable'), 0]
  const asked: number[] = []
  const begunMs = clock.now()
  const inner = memoryStore()
  const store = {
    capabilities: inner.capabilities,
    async open(host: { readonly onWork: () => void }) {
      const prune = (nowMs: number): number => {
        asked.push((nowMs - begunMs) / 1_000)
        const answer = answers.shift() ?? 0
        if (answer instanceof Error) throw answer
        return answer
      }
      return { ...(await inner.open(host)), prune }
    },
  }
  const inbox = inboxOver(store, { clock, storeTimeoutMs: 100 })
  await inbox.open()
  for (let second = 0; second < 250; second += 1) await clock.advance(1_000)
  expect(asked).toEqual([60, 61, 62, 122, 182, 242])
  await inbox.close()
  await clock.advance(120_000)
  expect(asked).toHaveLength(6)
})
