/** A killed process's events are due at once; those of a living process never are. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Claim } from '../../../src/dispatch/claim.ts'
import type { MessageStore } from '../../../src/inbox/store.ts'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, LONG_MS, namesOf, sample, settleAll } from '../../../src/store-conformance/samples.ts'
import { LOCK_FILE } from '../../../src/stores/sqlite/worker-folder.ts'
import { hostOf } from '../../support/stores.ts'
import { ownFile } from '../../support/own-folder.ts'

const TIMEOUT = { timeout: 60_000 }
const POLL = { timeout: 30_000 }

async function open(path: string, nowMs = Date.now): Promise<MessageStore> {
  const opened = await sqliteStore({ path, busyTimeoutMs: 20_000 }).open(hostOf({ nowMs }))
  onTestFinished(async () => {
    await opened.close()
  })
  return opened
}

/** A process that claims everything due for as long as `LONG_MS`. */
async function worker(path: string) {
  const child = fork(new URL('./programs/holding.ts', import.meta.url), [path])
  const exited = once(child, 'exit')
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  // The message of programs/holding.ts.
  const [{ claims }] = (await once(child, 'message')) as [{ readonly claims: readonly Pick<Claim, 'id'>[] }]
  return { claims, kill }
}

/** The worker names of the leases in the file. */
function workerNames(path: string): readonly string[] {
  const db = new DatabaseSync(path, { readOnly: true })
  const rows = db.prepare('SELECT name FROM workers ORDER BY worker').all()
  db.close()
  return rows.map(({ name }) => String(name))
}

/** Kills a process and waits until an open store has noticed; by then the store has also checked all earlier workers. */
async function killAnotherWorker(path: string): Promise<void> {
  const before = workerNames(path).length
  const dying = await worker(path)
  expect(dying.claims).toEqual([])
  expect(workerNames(path)).toHaveLength(before + 1)
  await dying.kill()
  await expect.poll(() => workerNames(path), POLL).toHaveLength(before)
}

/** The file with one event in it. */
async function freshFile(): Promise<string> {
  const path = ownFile()
  const store = await open(path)
  await admit(store, [sample({ at: 1 })])
  await store.close()
  return path
}

test('a living process keeps what it holds, against another process and this one', TIMEOUT, async () => {
  const path = await freshFile()
  const other = await worker(path)
  expect(other.claims).toHaveLength(1)
  const [first, second] = [await open(path), await open(path)]
  await admit(first, [sample({ message: 'here' })])
  const [mine] = (await claim(first)).claims
  if (mine === undefined) throw new Error('There was nothing to claim.')
  expect(namesOf([mine])).toEqual(['here-1'])
  await killAnotherWorker(path)
  expect((await claim(second)).claims).toEqual([])
  expect(await settleAll(first, [mine])).toEqual([true])
})

test('does not list a killed worker that has not been detected yet', TIMEOUT, async () => {
  const path = await freshFile()
  const first = await open(path)
  const dying = await worker(path)
  expect(dying.claims).toHaveLength(1)
  expect((await first.workers?.())?.map(({ name, isSelf, held }) => [name, isSelf, held])).toEqual([
    [`${hostname()}:${process.pid}`, true, 0],
    [expect.stringMatching(/:\d+$/), false, 1],
  ])
  await dying.kill()
  expect((await first.workers?.())?.map(({ isSelf }) => isSelf)).toEqual([true])
})

test.each(['living', 'killed'] as const)(
  'after the folder of a %s process is removed by hand, its lease has to expire',
  TIMEOUT,
  async (state) => {
    const path = await freshFile()
    const first = await worker(path)
    expect(first.claims).toHaveLength(1)
    if (state === 'killed') await first.kill()
    rmSync(`${path}-workers`, { recursive: true })
    let aheadMs = 0
    const second = await open(path, () => Date.now() + aheadMs)
    expect(await second.workers?.()).toMatchObject([{ isSelf: true }])
    await killAnotherWorker(path)
    expect((await claim(second)).claims).toEqual([])
    aheadMs = LONG_MS
    expect((await claim(second)).claims).toMatchObject([{ attempt: 2 }])
  },
)

test('removes the folder of a process that was killed before it entered its name', TIMEOUT, async () => {
  const path = await freshFile()
  const child = fork(new URL('./programs/dying-early.ts', import.meta.url), [`${path}-workers`])
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  const [left] = readdirSync(`${path}-workers`)
  expect(left).toBeDefined()
  await open(path)
  await expect.poll(() => readdirSync(`${path}-workers`), POLL).not.toContain(left)
  expect(readdirSync(`${path}-workers`)).toEqual(workerNames(path))
})

test('leaves a folder alone while it is being created, whatever its lock says', TIMEOUT, async () => {
  const path = await freshFile()
  const [fresh, old] = ['v1-000000000001.new', 'v1-000000000002.new'].map((name) => join(`${path}-workers`, name))
  if (fresh === undefined || old === undefined) throw new Error('Expected two names.')
  for (const folder of [fresh, old]) {
    mkdirSync(folder, { recursive: true })
    // No process listens there yet, as between the two steps of creating it.
    writeFileSync(join(folder, LOCK_FILE), '')
  }
  const longAgo = new Date(Date.now() - 3_600_000)
  utimesSync(old, longAgo, longAgo)
  await open(path)
  await expect.poll(() => existsSync(old), POLL).toBe(false)
  expect(existsSync(fresh)).toBe(true)
})

test('where heartbeats are impossible, others wait for the lease', TIMEOUT, async () => {
  const path = await freshFile()
  rmSync(`${path}-workers`, { recursive: true })
  writeFileSync(`${path}-workers`, 'in the way')
  const first = await worker(path)
  expect(first.claims).toHaveLength(1)
  expect(workerNames(path)).toEqual([])
  await first.kill()
  rmSync(`${path}-workers`)
  const second = await open(path)
  await killAnotherWorker(path)
  expect((await claim(second)).claims).toEqual([])
})
