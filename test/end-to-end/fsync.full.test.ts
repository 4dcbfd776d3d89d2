/**
 * A 204 means that the event is on the disk. A kill cannot show this, because written data outlives the process. So this test traces the
 * receiver's system calls under load: each answer must come after the sync of its event.
 * Runs with syncs left out show that the test detects them. `CALLBACKS` sets the number (`npm run test:fsync`).
 */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { SyncedPlan } from './programs/synced-app.ts'
import { holdsAnything } from './cluster/under-load.ts'
import { readTrace, startTraced, whyNoStrace } from './strace.ts'
import { checkSyncOrder, markOf, type SyncOrder } from './sync-order.ts'

const CALLBACKS = Number(process.env['CALLBACKS'] ?? '300')
/** Enough for a test that checks the detection itself. */
const FEW = 100
const TIME = { timeout: 60_000 + CALLBACKS * 50 }
const CLIENTS = 8
const LOOK_EVERY_MS = 50
const AUTH_KEY = 'auth-key-of-the-fsync-test'

interface Traced extends SyncOrder {
  /** The answers that the service counted. */
  readonly answered: number
  readonly refused: number
}

interface Load extends Partial<SyncedPlan> {
  readonly callbacks?: number
  /** The store becomes available again after this many answers. */
  readonly backAfter?: number
  readonly inject?: string
}

async function trace({ callbacks = CALLBACKS, backAfter, inject, ...plan }: Load): Promise<Traced> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'synced-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const root = join(folder, 'data')
  mkdirSync(root)
  const output = join(folder, 'trace')
  const full: SyncedPlan = {
    synchronous: 'FULL',
    isUnavailable: false,
    spoolSyncs: true,
    ...plan,
    authKey: AUTH_KEY,
    folder: root,
  }
  const program = new URL('./programs/synced-app.ts', import.meta.url)
  const app = startTraced({ program, args: [JSON.stringify(full)], output, inject })
  onTestFinished(() => void app.kill())
  // The program's first message; if the program dies before it, the test fails here.
  const [started] = (await Promise.race([once(app, 'message'), once(app, 'exit')])) as [{ port: number }]
  const agent = new http.Agent({ keepAlive: true })
  const counts = { answered: 0, refused: 0 }
  let next = 0
  const client = async (): Promise<void> => {
    while (next < callbacks) {
      const status = await send(agent, started.port, markOf((next += 1)))
      counts[status === 204 ? 'answered' : 'refused'] += 1
      if (counts.answered === backAfter) app.send('back')
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  agent.destroy()
  if (backAfter !== undefined)
    while (holdsAnything(join(root, 'inbox.db-spool')))
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  app.send('stop')
  await once(app, 'exit')
  return { ...counts, ...(await checkSyncOrder(readTrace(output), root)) }
}

function send(agent: http.Agent, port: number, messageId: string): Promise<number | undefined> {
  const body = JSON.stringify(callback.smsDelivery({ messageId, authKey: AUTH_KEY }))
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method: 'POST', agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Skips the test with a reason if system calls cannot be traced; in CI it fails instead, because it must run there. */
function traced(name: string, run: () => Promise<void>): void {
  if (reason === undefined) test(name, TIME, run)
  else if (process.env['CI'] === 'true')
    test(name, () => {
      throw new Error(`This test must run in CI, but ${reason}.`)
    })
  else {
    test.skip(`${name} (${reason})`)
  }
}

function print(name: string, result: Traced): void {
  const { violations, ...counts } = result
  console.log(`${name}: ${JSON.stringify(counts)}, violations ${JSON.stringify(violations)}`)
}

const reason = whyNoStrace()

traced('SQLite: each 204 comes after the sync of its transaction', async () => {
  const result = await trace({})
  print('SQLite', result)
  expect(result).toMatchObject({ answered: CALLBACKS, seen: CALLBACKS, checked: CALLBACKS, refused: 0 })
  expect(result.violations).toEqual({})
})

traced('detects SQLite without syncs', async () => {
  const result = await trace({ synchronous: 'OFF', callbacks: FEW })
  print('SQLite, synchronous OFF', result)
  expect(result.violations['answered before the sync']).toBeGreaterThan(0)
})

traced('spool: each 204 comes after the sync of its record', async () => {
  const result = await trace({ isUnavailable: true })
  print('Spool', result)
  expect(result).toMatchObject({ answered: CALLBACKS, seen: CALLBACKS, checked: CALLBACKS, refused: 0 })
  expect(result.violations).toEqual({})
})

traced('detects a spool without syncs', async () => {
  const result = await trace({ isUnavailable: true, spoolSyncs: false, callbacks: FEW })
  print('Spool without syncs', result)
  expect(result.violations['answered before the sync']).toBeGreaterThan(0)
})

traced('spool: a record is removed only after the available store has synced it', async () => {
  const result = await trace({ isUnavailable: true, backAfter: Math.ceil(CALLBACKS / 3) })
  print('Spool, then SQLite', result)
  expect(result).toMatchObject({ answered: CALLBACKS, seen: CALLBACKS, checked: CALLBACKS, refused: 0 })
  expect(result.violations).toEqual({})
  expect(result.spooledFilesRemoved).toBeGreaterThan(0)
})

traced('detects a store that does not sync after it becomes available again', async () => {
  const result = await trace({ isUnavailable: true, backAfter: FEW / 2, synchronous: 'OFF' })
  print('Spool, then SQLite with synchronous OFF', result)
  expect(result.violations['spooled file removed before the store had it']).toBeGreaterThan(0)
})

traced('spool: a failed sync sends no 204, and is never retried on its file', async () => {
  const result = await trace({ isUnavailable: true, inject: 'fdatasync:error=EIO:when=4+4' })
  print('Spool, every fourth sync of a thread fails', result)
  expect(result.failedSyncs).toBeGreaterThan(0)
  expect(result).toMatchObject({ seen: result.answered, checked: result.answered })
  expect(result.violations).toEqual({})
})

traced('SQLite: a failed sync sends no 204', async () => {
  const result = await trace({ inject: 'fsync:error=EIO:when=12+6' })
  print('SQLite, every sixth sync of a thread fails', result)
  expect(result.failedSyncs).toBeGreaterThan(0)
  expect(result).toMatchObject({ seen: result.answered, checked: result.answered })
  expect(result.violations).toEqual({})
})
