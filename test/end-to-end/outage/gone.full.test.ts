/** The database file is taken from under a running app, or the thread that works on it ends. */
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handedOver, startApp, type App } from './app.ts'
import { expectNothingLost, expectNothingTwice, ledger, startLoad } from './load.ts'
import { ownFolder } from '../../support/own-folder.ts'

const POLL = { timeout: 40_000 }
const STORE_TIMEOUT_MS = 1_000

function setting() {
  const folder = ownFolder()
  // Apart, so that the spool is not taken away too.
  const data = join(folder, 'data')
  mkdirSync(data)
  const options = {
    database: join(data, 'inbox.db'),
    spool: join(folder, 'spool'),
    log: join(folder, 'handed.log'),
    storeTimeoutMs: STORE_TIMEOUT_MS,
  }
  return { folder, data, options, answers: ledger() }
}

const outages = async (app: App): Promise<number> =>
  (await app.ask('report')).codes?.filter((code) => code === 'store_outage').length ?? 0

test('a file that is moved away under load and back again costs nothing', { timeout: 120_000 }, async () => {
  const { folder, data, options, answers } = setting()
  const app = await startApp(options)
  const load = startLoad(app.url, answers, { clients: 4 })
  await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(100)
  renameSync(data, join(folder, 'away'))
  await expect.poll(() => outages(app), POLL).toBe(1)
  const before = answers.taken.size
  await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(before + 100)
  renameSync(join(folder, 'away'), data)
  await load.stop()
  expect(await app.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
  const handed = handedOver(options.log)
  expectNothingLost(answers, handed)
  expectNothingTwice(handed)
  expect([...answers.statuses.keys()]).toEqual([204])
})

test('a file that is removed for good costs what it held, and nothing after that', { timeout: 120_000 }, async () => {
  const { data, options, answers } = setting()
  const first = await startApp(options)
  const load = startLoad(first.url, answers, { clients: 4 })
  await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(100)
  for (const name of readdirSync(data)) rmSync(join(data, name), { recursive: true })
  await expect.poll(() => outages(first), POLL).toBe(1)
  await load.stop()
  const after = ledger()
  const goesOn = startLoad(first.url, after, { clients: 4, prefix: 'after' })
  await expect.poll(() => after.taken.size, POLL).toBeGreaterThan(100)
  await first.kill()
  await goesOn.stop()
  const second = await startApp(options)
  expect(await second.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
  expectNothingLost(after, handedOver(options.log))
})

test('a thread that ends is replaced, and costs nothing', { timeout: 120_000 }, async () => {
  const { options, answers } = setting()
  const app = await startApp(options)
  const load = startLoad(app.url, answers, { clients: 4 })
  await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(100)
  await app.ask('end the worker')
  const before = answers.taken.size
  await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(before + 100)
  await load.stop()
  expect(await app.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
  const handed = handedOver(options.log)
  expectNothingLost(answers, handed)
  expectNothingTwice(handed)
  expect([...answers.statuses.keys()]).toEqual([204])
  expect(await outages(app)).toBeLessThanOrEqual(1)
})
