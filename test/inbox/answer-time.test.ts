/** The time that an answer waits for the store: `storeTimeoutMs` in total, however the store fails. */
import type { Store } from 'messaging-webhooks'
import type { NewEvent } from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import { sample } from '../../src/store-conformance/samples.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { inboxOver } from '../support/inbox.ts'
import { brokenStore } from '../support/stores.ts'

const STORE_TIMEOUT_MS = 5_000

/** A store whose every admission takes this long and then fails, if it ends at all; and one that takes this long to open. */
async function failing({ afterMs = Infinity, openMs = 0 }: { readonly afterMs?: number; readonly openMs?: number }) {
  const wall = fakeClock()
  const asked: number[] = []
  const later = (ms: number, work: () => void): void => {
    if (ms !== Infinity) wall.setTimer(work, ms)
  }
  const { capabilities, open } = brokenStore({
    admit(commands) {
      asked.push(commands.length)
      return new Promise((_resolve, reject) => later(afterMs, () => reject(new Error('The server does not answer.'))))
    },
  })
  const store: Store = {
    capabilities,
    async open(host) {
      await new Promise<void>((resolve) => later(openMs, resolve))
      return open(host)
    },
  }
  const inbox = inboxOver(store, { clock: wall, storeTimeoutMs: STORE_TIMEOUT_MS })
  if (openMs === 0) {
    const open = inbox.open()
    await wall.advance(0)
    await open
  }
  const startMs = wall.now()
  const answers: { readonly code: unknown; readonly atMs: number }[] = []

  async function admit(event: NewEvent): Promise<void> {
    try {
      await inbox.admit(event)
      answers.push({ code: 'accepted', atMs: wall.now() - startMs })
    } catch (error) {
      answers.push({ code: error instanceof Error && 'code' in error && error.code, atMs: wall.now() - startMs })
    }
  }

  return { wall, asked, answers, admit: (at: number) => void admit(sample({ message: `m${at}`, at })) }
}

test.each([1_000, 3_000, 4_000])('retries a store whose every try fails after %s ms within the time', async (ms) => {
  const { wall, asked, answers, admit } = await failing({ afterMs: ms })
  for (let at = 0; at < 20; at += 1) admit(at)
  await wall.advance(60_000)
  expect(answers).toHaveLength(20)
  expect(Math.max(...answers.map(({ atMs }) => atMs))).toBe(STORE_TIMEOUT_MS)
  expect(asked.length).toBeGreaterThan(1)
})

test('the time includes opening the store', async () => {
  const { wall, answers, admit } = await failing({ openMs: 4_000 })
  for (let at = 0; at < 3; at += 1) admit(at)
  await wall.advance(60_000)
  expect(answers).toEqual(Array.from({ length: 3 }, () => ({ code: 'store_slow', atMs: STORE_TIMEOUT_MS })))
})
