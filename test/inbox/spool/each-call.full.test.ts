/**
 * Every system call of the spool fails in turn, once and from then on, in its own process that adopts what a dead one
 * left, appends, drains and closes. The next process must find every acknowledged record. A run takes a fixed
 * selection of the calls, `EVERY_CALL=1` takes them all.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { whyNoStrace } from '../../end-to-end/strace.ts'
import { crashed, emptyAll, event, nameOf, spooling } from './spooling.ts'
import { titleWith } from '../../support/skipping.ts'

const WHOLE = process.env['EVERY_CALL'] !== undefined
const TIMEOUT = { timeout: WHOLE ? 1_800_000 : 180_000 }
const PROGRAM = join(import.meta.dirname, 'programs', 'each-call.ts')
/** Much longer than needed: a process that runs longer hangs. */
const HANGS_MS = 60_000
const OLD = ['old1', 'old2', 'old3', 'old4', 'old5']

/** In the thread for files, and what fails there in practice. */
const OF_FILES: Readonly<Record<string, readonly string[]>> = {
  openat: ['EMFILE', 'EACCES', 'ENOSPC', 'EIO', 'EROFS'],
  pwrite64: ['ENOSPC', 'EIO', 'EDQUOT', 'EFBIG', 'EINTR'],
  pread64: ['EIO', 'EINTR'],
  fsync: ['EIO', 'ENOSPC'],
  fdatasync: ['EIO', 'EDQUOT'],
  rename: ['EACCES', 'ENOSPC', 'EIO'],
  unlink: ['EACCES', 'EROFS'],
  rmdir: ['EACCES'],
  mkdir: ['ENOSPC', 'EACCES', 'EROFS'],
  statx: ['EIO', 'EACCES'],
  newfstatat: ['EIO'],
  getdents64: ['EIO'],
  close: ['EIO', 'EINTR'],
}
/** In the main thread: the lock. */
const OF_SOCKETS: Readonly<Record<string, readonly string[]>> = {
  socket: ['EMFILE', 'ENOBUFS'],
  bind: ['EACCES', 'ENOSPC', 'EROFS'],
  listen: ['ENOBUFS'],
  connect: ['EAGAIN', 'EACCES', 'EMFILE'],
}

interface Fault {
  readonly call: string
  readonly error: string
  readonly nth: number
  /** Whether all calls after it fail too. */
  readonly stays: boolean
}

interface Ran {
  /** Whether there was such a call to fail. */
  readonly hit: boolean
  readonly code: number | null
  readonly lines: readonly (readonly string[])[]
  readonly stderr: string
}

/** Three files of a dead process, of which the last one was torn, and a reserve. */
async function deadFolder(): Promise<string> {
  const { spool, folder } = await spooling({ segmentBytes: 2_000, reserveBytes: 30_000 })
  for (const name of OLD) await spool.append([event(name, Buffer.alloc(1_200, name))])
  return crashed(folder)
}

/** The thread of that name, which has just been started. */
async function threadOf(pid: number, name: string): Promise<string> {
  const tasks = `/proc/${pid}/task`
  const find = () => readdirSync(tasks).find((id) => readFileSync(join(tasks, id, 'comm'), 'utf8').trim() === name)
  await expect.poll(find, { timeout: 30_000 }).toBeDefined()
  return find() ?? ''
}

async function run(folder: string, { call, error, nth, stays }: Fault): Promise<Ran> {
  const child = spawn(process.execPath, [PROGRAM, folder], {
    env: { ...process.env, UV_USE_IO_URING: '0', UV_THREADPOOL_SIZE: '1', NODE_OPTIONS: '' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const { pid = 0 } = child
  const hangs = setTimeout(() => child.kill('SIGKILL'), HANGS_MS)
  const [stdout, stderr, closed] = [text(child.stdout), text(child.stderr), once(child, 'close')]
  await once(child.stdout, 'readable')
  const thread = Object.hasOwn(OF_FILES, call) ? await threadOf(pid, 'libuv-worker') : String(pid)
  const trace = `${folder}.trace`
  const tracer = spawn(
    'strace',
    [
      ...['-p', thread, '-o', trace, '-e', `trace=${call}`, '-e', 'signal=none'],
      ...['-e', `inject=${call}:error=${error}:when=${nth}${stays ? '+' : ''}`],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const traced = once(tracer, 'close')
  await once(tracer.stderr, 'data')
  child.stdin.end('go\n')
  await closed
  clearTimeout(hangs)
  await traced
  const hit = readFileSync(trace, 'latin1').includes('(INJECTED)')
  rmSync(trace)
  const lines = (await stdout).split('\n').map((line) => line.split(' '))
  return { hit, code: child.exitCode, lines, stderr: await stderr }
}

/** Runs it with the fault and checks the invariants; returns whether there was such a call. */
async function holdsUnder(model: string, fault: Fault): Promise<boolean> {
  const folder = await crashed(model)
  const { hit, code, lines, stderr } = await run(folder, fault)
  const named = (what: string): readonly string[] => lines.flatMap(([first, ...rest]) => (first === what ? rest : []))
  const where = `${JSON.stringify(fault)}\n${lines.map((line) => line.join(' ')).join('\n')}\n${stderr}`
  expect(code, where).toBe(0)
  expect(stderr, where).toBe('')
  expect(named('done'), where).toEqual([])
  expect(lines.at(-2), where).toEqual(['done'])
  for (const [what, errorCode] of lines)
    if (what === 'report' || what === 'append' || what === 'open' || what === 'close')
      expect(errorCode, where).toMatch(/^(spool_\w+|disk_full)$/)
  const accepted = named('accepted')
  const { spool, errors } = await spooling({ folder, reserveBytes: 0 })
  const found = (await emptyAll(spool)).map(nameOf)
  // Perhaps accepted twice, but in order, and nothing that was acknowledged is missing.
  const kept = [...OLD, ...named('kept')]
  expect(
    kept.filter((name) => !accepted.includes(name) && !found.includes(name)),
    where,
  ).toEqual([])
  expect(
    errors.map(({ message }) => message),
    where,
  ).toEqual([])
  const first = [...new Set(accepted)].filter((name) => kept.includes(name))
  expect(first, where).toEqual(kept.filter((name) => first.includes(name)))
  const foundKept = [...new Set(found)].filter((name) => kept.includes(name))
  expect(foundKept, where).toEqual(kept.filter((name) => foundKept.includes(name)))
  await spool.close()
  rmSync(folder, { recursive: true })
  return hit
}

/** Part of the normal run: a failure at the open, in an append, in the drain or at the close, for each call. */
const SAMPLE: readonly Fault[] = [
  { call: 'openat', error: 'EMFILE', nth: 3, stays: false },
  { call: 'openat', error: 'ENOSPC', nth: 15, stays: true },
  { call: 'pwrite64', error: 'ENOSPC', nth: 3, stays: true },
  { call: 'pwrite64', error: 'EIO', nth: 4, stays: false },
  { call: 'pread64', error: 'EIO', nth: 2, stays: true },
  { call: 'pread64', error: 'EIO', nth: 6, stays: false },
  { call: 'fsync', error: 'EIO', nth: 4, stays: false },
  { call: 'fdatasync', error: 'EIO', nth: 2, stays: true },
  { call: 'rename', error: 'EACCES', nth: 4, stays: false },
  { call: 'unlink', error: 'EROFS', nth: 2, stays: true },
  { call: 'mkdir', error: 'ENOSPC', nth: 1, stays: false },
  { call: 'statx', error: 'EIO', nth: 5, stays: true },
  { call: 'getdents64', error: 'EIO', nth: 3, stays: false },
  { call: 'close', error: 'EIO', nth: 6, stays: true },
  { call: 'bind', error: 'EACCES', nth: 1, stays: false },
  { call: 'connect', error: 'EAGAIN', nth: 1, stays: false },
]

const missing = process.env['CI'] === 'true' ? undefined : whyNoStrace()

function testSample(): void {
  test('when one call or another fails', TIMEOUT, async () => {
    const model = await deadFolder()
    for (const fault of SAMPLE) expect(await holdsUnder(model, fault), `${JSON.stringify(fault)} was hit`).toBe(true)
  })
}

function testEveryCall(): void {
  test.each(Object.entries({ ...OF_FILES, ...OF_SOCKETS }))(
    'at every failing %s, until there are no more such calls',
    TIMEOUT,
    async (call, errors) => {
      const model = await deadFolder()
      let runs = 0
      for (const error of errors)
        // A call that stays interrupted is only repeated.
        for (const stays of error === 'EINTR' ? [false] : [false, true])
          for (let nth = 1; await holdsUnder(model, { call, error, nth, stays }); nth += 1) runs += 1
      console.log(`${call}: ${runs} failures`)
      expect(runs).toBeGreaterThan(0)
    },
  )
}

describe.skipIf(missing !== undefined)(
  titleWith(missing, 'what was acknowledged is found'),
  WHOLE ? testEveryCall : testSample,
)
