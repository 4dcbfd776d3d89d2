/** Several processes on one folder, and a backlog larger than the memory of one. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { crashed, emptiedNames, events, filesIn, nameOf, segmentFiles, spooling } from './spooling.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { runProgram } from '../../support/program.ts'

const PROGRAM = join(import.meta.dirname, 'programs', 'append.ts')

interface Appender {
  readonly child: ChildProcess
  /** The names that it printed. */
  readonly acknowledged: readonly string[]
  /** Resolves when it has printed this line. */
  printed(line: string | number): Promise<void>
  /** Sends SIGKILL; resolves to what it had printed by then. */
  kill(): Promise<void>
}

function startAppender(folder: string, prefix: string, most?: number): Appender {
  const child = spawn(process.execPath, [PROGRAM, folder, prefix, ...(most === undefined ? [] : [String(most)])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const acknowledged: string[] = []
  const all: string[] = []
  let look = (): void => {}
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    all.push(line)
    if (line.startsWith(prefix)) acknowledged.push(line)
    look()
  })
  const closed = once(lines, 'close')
  return {
    child,
    acknowledged,
    printed: (line) =>
      new Promise((resolve) => {
        look = () => {
          if (typeof line === 'string' ? all.includes(line) : all.length >= line) resolve()
        }
        look()
      }),
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}

test('two processes on one folder do not collide, and a suspended one does not count as dead', async () => {
  const folder = ownFolder()
  const other = startAppender(folder, 'other-', 300)
  await other.printed('done')
  other.child.kill('SIGSTOP')
  const first = await spooling({ folder })
  expect(first.spool.size).toBe(0)
  await first.spool.append(events('ours', 10))
  const second = await spooling({ folder })
  expect(second.spool.size).toBe(0)
  expect(await emptiedNames(first.spool)).toEqual(events('ours', 10).map(nameOf))
  await other.kill()
  const third = await spooling({ folder })
  expect(new Set(await emptiedNames(third.spool))).toEqual(new Set(other.acknowledged))
})

test('exactly one of several processes that open at once adopts everything a dead process left', async () => {
  const folder = ownFolder()
  const dead = startAppender(folder, 'dead-', 500)
  await dead.printed('done')
  await dead.kill()
  const opened = await Promise.all(Array.from({ length: 5 }, () => spooling({ folder })))
  const sizes = opened.map(({ spool }) => spool.size).toSorted((a, b) => b - a)
  expect(sizes).toEqual([dead.acknowledged.length, 0, 0, 0, 0])
  const drained = await Promise.all(opened.map(({ spool }) => emptiedNames(spool)))
  expect(new Set(drained.flat())).toEqual(new Set(dead.acknowledged))
  expect(opened.flatMap(({ errors }) => errors)).toEqual([])
})

test('a process that ended while it adopted another leaves all of it, in order', async () => {
  const { spool, folder } = await spooling({ segmentBytes: 1 })
  for (const one of events('e', 4)) await spool.append([one])
  const copy = await crashed(folder)
  const [home = ''] = readdirSync(copy)
  const adopter = join(copy, 'v1-aaaaaaaaaaaa')
  mkdirSync(adopter)
  for (const path of segmentFiles(copy).slice(0, 2)) renameSync(path, join(adopter, basename(path)))
  renameSync(join(copy, home), join(adopter, home))
  const again = await spooling({ folder: copy })
  expect(await emptiedNames(again.spool)).toEqual(events('e', 4).map(nameOf))
  expect(again.errors).toEqual([])
  expect(readdirSync(copy).length).toBe(1)
})

test('reports what cannot be adopted, and leaves it', async () => {
  const { spool, folder } = await spooling()
  await spool.append(events('e', 1))
  const copy = await crashed(folder)
  const [home = ''] = readdirSync(copy)
  const [path = ''] = segmentFiles(copy)
  // A folder in the place of a file.
  renameSync(path, `${path}.kept`)
  mkdirSync(path)
  const again = await spooling({ folder: copy })
  expect(again.errors.map(({ code }) => code)).toEqual(['spool_unusable'])
  expect(again.spool.size).toBe(0)
  await again.spool.append(events('f', 1))
  expect(await emptiedNames(again.spool)).toEqual(['f1'])
  expect(filesIn(copy).some((kept) => kept.includes(home) && kept.endsWith('.kept'))).toBe(true)
})

test('a folder whose path is too long for a socket works on Linux', async () => {
  if (process.platform !== 'linux') return
  const folder = join(ownFolder(), 'long'.repeat(30), 'longer'.repeat(20))
  mkdirSync(folder, { recursive: true })
  const child = startAppender(folder, 'e', 20)
  await child.printed('done')
  const alive = await spooling({ folder })
  expect(alive.spool.size).toBe(0)
  await child.kill()
  const { spool } = await spooling({ folder })
  expect((await emptiedNames(spool)).length).toBe(child.acknowledged.length)
})

const EMPTY_MANY = join(import.meta.dirname, 'programs', 'empty-many.ts')
const RECORDS = 100_000

test('writes, counts and drains 100,000 records in bounded memory', { timeout: 120_000 }, async () => {
  const { stdout, stderr } = await runProgram(process.execPath, ['--expose-gc', EMPTY_MANY, ownFolder(), `${RECORDS}`])
  expect(stderr).toBe('')
  const { drained, bytes, heldBeforeMb, mostHeldMb, longestBatch } = JSON.parse(stdout) as Record<string, number>
  console.log(stdout.trim())
  expect(drained).toBe(RECORDS)
  expect(bytes).toBeGreaterThan(50_000_000)
  expect(longestBatch).toBeLessThanOrEqual(256)
  expect((mostHeldMb ?? Infinity) - (heldBeforeMb ?? 0)).toBeLessThan(30)
})
