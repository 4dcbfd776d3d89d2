import { memoryStore } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { inboxOver } from '../support/inbox.ts'
import { storeAround } from '../support/store-around.ts'

test('prunes once a minute, again after a second while there is something to erase, and not when closed', async () => {
  const clock = fakeClock()
  // What each search finds. `kept` has lost nothing.
  const found: (readonly string[] | Error)[] = [['a', 'b', 'c'], ['a'], ['kept'], new Error('unavailable'), []]
  const asked: number[] = []
  const expired: string[] = []
  const begunMs = clock.now()
  const store = storeAround(memoryStore(), {
    due() {
      asked.push((clock.now() - begunMs) / 1_000)
      const keys = found.shift() ?? []
      if (keys instanceof Error) throw keys
      return { keys, nextInMs: undefined }
    },
    run(commands) {
      const keys = commands.flatMap(({ do: name, key }) => (name === 'expire' ? [key] : []))
      expired.push(...keys)
      return keys.map((key) => (key === 'kept' ? 'kept' : 'changed'))
    },
  })
  const inbox = inboxOver(store, { clock, storeTimeoutMs: 100 })
  await inbox.open()
  for (let second = 0; second < 250; second += 1) await clock.advance(1_000)
  expect(asked).toEqual([60, 61, 62, 122, 182, 242])
  expect(expired).toEqual(['a', 'b', 'c', 'a', 'kept'])
  await inbox.close()
  await clock.advance(120_000)
  expect(asked).toHaveLength(6)
})
