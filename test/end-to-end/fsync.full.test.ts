/**
 * A 204 means that the event is on the disk. A kill cannot show this, because written data outlives the process. So this test traces the
 * receiver's system calls under load: each answer must come after the sync of its event.
 * Runs with syncs left out show that the test detects them. `CALLBACKS` sets the number (`npm run test:fsync`).
 */
import { once } from 'node:events'
import { mkdirSync, realpathSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { SyncedPlan } from './programs/synced-app.ts'
import { holdsAnything } from './cluster/under-load.ts'
import { ownFolder } from '../support/own-folder.ts'
import { readTrace, startTraced, whyNoStrace } from './strace.ts'
import { checkSyncOrder, markOf, type SyncOrder, type Violation } from './sync-order.ts'

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
  const folder = realpathSync(ownFolder())
  const root = join(folder, 'data')
  mkdirSync(root)
  const output = join(folder, 'trace')
  const full: SyncedPlan = {
    synchronous: 'FULL',
    isUnavailable: false,
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

const reason = whyNoStrace()

/** Skips the test with a reason if system calls cannot be traced; in CI it fails instead, because it must run there. */
function traced(name: string, load: Load, check: (result: Traced) => void): void {
  if (reason !== undefined && process.env['CI'] !== 'true') {
    test.skip(`${name} (${reason})`)
    return
  }
  test(name, TIME, async () => {
    if (reason !== undefined) throw new Error(`This test must run in CI, but ${reason}.`)
    const result = await trace(load)
    const { violations, ...counts } = result
    console.log(`${name}: ${JSON.stringify(counts)}, violations ${JSON.stringify(violations)}`)
    check(result)
  })
}

function isInOrder(result: Traced): void {
  expect(result).toMatchObject({ answered: CALLBACKS, seen: CALLBACKS, checked: CALLBACKS, refused: 0 })
  expect(result.violations).toEqual({})
}

const detects =
  (violation: Violation) =>
  ({ violations }: Traced): void =>
    expect(violations[violation]).toBeGreaterThan(0)

function answersNoFailedSync(result: Traced): void {
  expect(result.failedSyncs).toBeGreaterThan(0)
  expect(result).toMatchObject({ seen: result.answered, checked: result.answered })
  expect(result.violations).toEqual({})
}

traced('SQLite: each 204 comes after the sync of its transaction', {}, isInOrder)

traced('spool: each 204 comes after the sync of its record', { isUnavailable: true }, isInOrder)

traced(
  'spool: a row is removed only after the available store has synced it',
  { isUnavailable: true, backAfter: Math.ceil(CALLBACKS / 3) },
  (result) => {
    isInOrder(result)
    expect(result.rowsRemoved).toBeGreaterThan(0)
  },
)

traced('detects SQLite without syncs', { synchronous: 'OFF', callbacks: FEW }, detects('answered before the sync'))

traced(
  'detects a store that does not sync after it becomes available again',
  { isUnavailable: true, backAfter: FEW / 2, synchronous: 'OFF' },
  detects('row removed before the store had it'),
)

// Every sixth sync of a thread fails.
traced(
  'spool: a failed sync sends no 204',
  { isUnavailable: true, inject: 'fsync:error=EIO:when=12+6' },
  answersNoFailedSync,
)

traced('SQLite: a failed sync sends no 204', { inject: 'fsync:error=EIO:when=12+6' }, answersNoFailedSync)
