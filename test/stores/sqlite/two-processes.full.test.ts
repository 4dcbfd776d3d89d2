/** Receivers in several processes on one file: one of them runs each event, and the other takes over when it is killed. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, startInstance, type Instance } from '../../end-to-end/cluster/instance.ts'
import { send } from '../../end-to-end/cluster/service.ts'
import { ownFile, ownFolder } from '../../support/own-folder.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }

function integrity(path: string): unknown {
  const db = new DatabaseSync(path)
  try {
    return db.prepare('PRAGMA integrity_check').all()
  } finally {
    db.close()
  }
}

/** `npm run test:matrix` tests the same on a Node.js with such an old SQLite. */
test('where SQLite is too old to share, refuses the second process until the first is dead', TIMEOUT, async () => {
  const preload = `--import ${new URL('./programs/old-sqlite.ts', import.meta.url).href}`
  const folder = ownFolder()
  // The refused process does not wait long.
  const store = { engine: 'sqlite', url: join(folder, 'inbox.db'), name: 'inbox', busyTimeoutMs: 1_000 } as const
  const start = (name: string) => {
    const places = { log: join(folder, `${name}.log`), spool: join(folder, `${name}-spool`) }
    return startInstance({ store, ...places, handlerTimeoutMs: 600_000 }, onTestFinished, preload)
  }
  const begun = ({ log }: Instance) => /^begin \S+ hangs.* (\d+) \d+$/m.exec(readFileSync(log, 'utf8'))?.[1]

  const first = await start('first')
  await first.ask('hold')
  const body = JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId: 'hangs' }))
  expect(await send(first.url, body)).toBe(204)
  await expect.poll(() => begun(first), POLL).toBe('1')
  const refused = await start('refused')
  await expect.poll(async () => (await refused.ask('report')).codes, POLL).toContain('store_outage')
  // It would keep trying, and get the file before a third process.
  await refused.kill()
  await first.kill()
  await expect.poll(() => begun(refused), POLL).toBeUndefined()
  const second = await start('second')
  await expect.poll(() => begun(second), POLL).toBe('2')
})

test('creates a missing file once, however many processes open it at that moment', TIMEOUT, async () => {
  const openers = Array.from({ length: 4 }, startOpener)
  await Promise.all(openers.map(({ answer }) => answer()))
  for (let round = 0; round < 40; round += 1) {
    const path = ownFile()
    const answers = openers.map(({ answer }) => answer())
    for (const { open } of openers) open(path)
    expect(await Promise.all(answers)).toEqual(openers.map(() => 'open'))
    if (round === 0) expect(integrity(path)).toEqual([{ integrity_check: 'ok' }])
  }
})

/** A process that opens the files it is asked to. It reports that it runs, and then the result for each file. */
function startOpener() {
  const child = fork(fileURLToPath(new URL('./programs/opener.ts', import.meta.url)))
  onTestFinished(() => void child.kill())
  return {
    open: (path: string) => void child.send(path),
    answer: async (): Promise<unknown> => (await once(child, 'message'))[0],
  }
}
