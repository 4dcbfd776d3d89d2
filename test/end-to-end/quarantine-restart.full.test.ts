/**
 * A bad deploy that a restart fixes: real callbacks meet the wrong secret amid floods, the process is killed, and
 * the next one admits them all. Runs separate processes on SQLite files.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { A, B } from '../support/pairs.ts'
import { postAll } from '../support/pipelining.ts'
import { forgeries, junk, problemsOf, realCallbacks } from './quarantine-traffic.ts'
import { ownFolder } from '../support/own-folder.ts'

const MIB = 1024 * 1024
const MAX_BYTES = 4 * MIB
/** `npm run test:flood` sends all of them. */
const WHOLE = process.env['FORGERIES'] !== undefined
const JUNK = WHOLE ? 100_000 : 16_000
const FORGERIES = WHOLE ? 20_000 : 8_000
const PARTS = 4

interface Counts {
  readonly looksLikeOurs: number
  readonly rest: number
  readonly bytes: number
  readonly memory: number
  readonly codes: Readonly<Record<string, number>>
}

async function startApp(folder: string, pair: typeof A) {
  const program = new URL('./programs/refusing-app.ts', import.meta.url)
  const child: ChildProcess = fork(program, [folder, pair.authKey, pair.signingSecret, String(MAX_BYTES)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--expose-gc'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  // The program's first message.
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  async function ask<T>(wish: string): Promise<T> {
    child.send(wish)
    const [answer] = (await once(child, 'message')) as [T]
    return answer
  }
  return {
    url: `http://127.0.0.1:${port}/`,
    counts: () => ask<Counts>('counts'),
    reverify: () => ask<{ examined: number; admitted: number; drained: boolean; late: number }>('reverify'),
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

function quarantineFiles(folder: string): readonly string[] {
  const inside = join(folder, 'inbox.db-spool', 'quarantine')
  const names = readdirSync(inside, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.request')).map((name) => join(inside, name))
}

/** A file may be removed between listing its folder and reading it. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function handled(folder: string): readonly (readonly [string, string])[] {
  const lines = readFileSync(join(folder, 'handlers.log'), 'utf8').trim().split('\n')
  return lines.map((line) => {
    const [messageId = '', type = ''] = line.split('\t')
    return [messageId, type] as const
  })
}

/** Waits until all requests are on the disk; the process would lose one that is not. */
async function untilWritten(folder: string, requests: number): Promise<void> {
  await vi.waitFor(() => expect(quarantineFiles(folder)).toHaveLength(requests), { timeout: 60_000, interval: 200 })
}

test(
  'a restart with the right secret, after a kill -9 amid floods, admits all 1,000 in order',
  { timeout: 300_000 },
  async () => {
    const folder = ownFolder()
    const wrong = await startApp(folder, B)
    const real = realCallbacks()
    const noise = junk(JUNK)
    let largest = 0
    async function flood(requests: Parameters<typeof postAll>[1]): Promise<void> {
      for (let at = 0; at < requests.length; at += 1_000) {
        const part = requests.slice(at, at + 1_000)
        expect(await postAll(wrong.url, part)).toEqual({ 401: part.length })
        largest = Math.max(
          largest,
          quarantineFiles(folder).reduce((sum, path) => sum + sizeOf(path), 0),
        )
      }
    }
    let before: Counts | undefined
    for (let part = 0; part < PARTS; part += 1) {
      const of = <T>(all: readonly T[]) => all.slice((part * all.length) / PARTS, ((part + 1) * all.length) / PARTS)
      expect(await postAll(wrong.url, of(real))).toEqual({ 401: real.length / PARTS })
      await flood(of(noise))
      before ??= await wrong.counts()
    }
    await flood(forgeries(FORGERIES))
    const after = await wrong.counts()
    console.log(
      `files: ${(largest / MIB).toFixed(1)} MiB at most; kept: ${(after.bytes / MIB).toFixed(1)} MiB; memory: ` +
        `${((after.memory - (before?.memory ?? 0)) / MIB).toFixed(1)} MiB more than after the first quarter`,
    )
    expect(largest).toBeLessThan(3 * MAX_BYTES)
    expect(after.bytes).toBeLessThanOrEqual(MAX_BYTES)
    expect(after.memory - (before?.memory ?? 0)).toBeLessThan(64 * MIB)
    expect(after.codes).not.toHaveProperty('quarantine_unwritten')
    await untilWritten(folder, after.looksLikeOurs + after.rest)
    await wrong.kill()

    // Only the third process has the fixed deploy; it adopts what the second one adopted.
    const stillWrong = await startApp(folder, B)
    expect(await stillWrong.counts()).toMatchObject({ looksLikeOurs: after.looksLikeOurs, rest: after.rest })
    await stillWrong.kill()

    const right = await startApp(folder, A)
    const outcome = await right.reverify()
    expect(outcome).toMatchObject({ admitted: 1_000, drained: true, late: 0 })
    expect(outcome.examined).toBe(after.looksLikeOurs + after.rest)
    expect(handled(folder)).toHaveLength(1_000)
    expect(problemsOf(handled(folder))).toEqual([])
    await vi.waitFor(() => {
      for (const path of quarantineFiles(folder)) expect(readFileSync(path).includes(A.authKey)).toBe(false)
    }, 30_000)
    await right.kill()

    const next = await startApp(folder, A)
    expect(await next.reverify()).toMatchObject({ admitted: 0 })
    expect(handled(folder)).toHaveLength(1_000)
  },
)

test('keys are in the files of the quarantine and in no other', { timeout: 60_000 }, async () => {
  const folder = ownFolder()
  const app = await startApp(folder, B)
  const real = realCallbacks(4)
  await postAll(app.url, real)
  await untilWritten(folder, real.length)
  await app.kill()
  const right = await startApp(folder, A)
  expect(await right.reverify()).toMatchObject({ admitted: 20 })
  await postAll(right.url, realCallbacks(2))
  await right.kill()
  const others = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.request'))
    .map(({ parentPath, name }) => join(parentPath, name))
  expect(others.length).toBeGreaterThan(1)
  for (const path of others) {
    const bytes = readFileSync(path)
    for (const secret of [A.authKey, A.signingSecret, B.authKey, B.signingSecret])
      expect(bytes.includes(secret), path).toBe(false)
  }
})
