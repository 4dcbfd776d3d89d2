/** Receivers in several processes on one file: each event in the hands of one, and of the other when that one is killed. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post } from '../../support/receiving.ts'
import { startSharingApp } from './sharing-app.ts'
import { ownFile } from '../../support/own-folder.ts'

const PATIENT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }

async function deliver(url: string, messageIds: readonly string[]): Promise<void> {
  const statuses = await Promise.all(
    messageIds.map(async (messageId) => (await post(url, callback.smsDelivery({ messageId }))).status),
  )
  expect(statuses).toEqual(messageIds.map(() => 204))
}

function integrity(path: string): unknown {
  const db = new DatabaseSync(path)
  try {
    return db.prepare('PRAGMA integrity_check').all()
  } finally {
    db.close()
  }
}

/** `npm run test:matrix` does the same on a Node.js whose SQLite is that old. */
test('where SQLite is too old to share, the second is refused until the first is dead', PATIENT, async () => {
  const path = ownFile()
  const first = await startSharingApp(path, { oldSqlite: true })
  expect(first.refused).toBeUndefined()
  await deliver(first.url, ['hang-a'])
  await expect.poll(() => first.handled, POLL).toEqual(['hang-a 1'])
  const refused = await startSharingApp(path, { oldSqlite: true })
  expect(refused.refused).toBe('store_locked')
  // Its own receiver would go on trying, and have the file before a third.
  await refused.kill()
  await first.kill()
  const second = await startSharingApp(path, { oldSqlite: true })
  expect(second.refused).toBeUndefined()
  await expect.poll(() => second.handled, POLL).toEqual(['hang-a 2'])
})

test(
  'a file that does not exist yet is made once, however many processes open it at that moment',
  PATIENT,
  async () => {
    const openers = Array.from({ length: 4 }, startOpener)
    await Promise.all(openers.map(({ answer }) => answer()))
    for (let round = 0; round < 40; round += 1) {
      const path = ownFile()
      const answers = openers.map(({ answer }) => answer())
      for (const { open } of openers) open(path)
      expect(await Promise.all(answers)).toEqual(openers.map(() => 'open'))
      if (round === 0) expect(integrity(path)).toEqual([{ integrity_check: 'ok' }])
    }
  },
)

/** A process that opens the files it is told to. It says that it is there, and then what became of each. */
function startOpener() {
  const child = fork(fileURLToPath(new URL('./programs/opener.ts', import.meta.url)))
  onTestFinished(() => void child.kill())
  return {
    open: (path: string) => void child.send(path),
    answer: async (): Promise<unknown> => (await once(child, 'message'))[0],
  }
}
