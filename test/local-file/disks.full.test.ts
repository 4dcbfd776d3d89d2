/** Disks and builds of Node that cannot hold the local file: the start fails, and the message says why and what to do. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memoryStore } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { whyNoStrace } from '../end-to-end/strace.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { ownFolder } from '../support/own-folder.ts'
import { runProgram } from '../support/program.ts'
import { post, receiving } from '../support/receiving.ts'
import { fill, onSmallDisk } from '../support/small-disk.ts'

const PROGRAM = fileURLToPath(new URL('programs/spooling.ts', import.meta.url))
const DISK_BYTES = 8 * 1024 * 1024
const TIME_MS = 60_000

const noStrace = whyNoStrace()

test.skipIf(noStrace !== undefined)(
  `a file system that refuses locks, as network mounts do${noStrace === undefined ? '' : ` (${noStrace})`}`,
  { timeout: TIME_MS },
  async () => {
    const folder = ownFolder()
    const path = join(folder, 'local.db')
    const inject = ['-P', path, '-e', 'trace=fcntl', '-e', 'inject=fcntl:error=EOPNOTSUPP']
    const { stdout } = await runProgram('strace', [
      ...['-f', '-qq', '-o', join(folder, 'trace'), ...inject],
      ...[process.execPath, PROGRAM, folder],
    ])
    expect(stdout).toContain(`spool_unusable`)
    expect(stdout).toContain(`${path} (\`spool\`): The file system refuses locks`)
    expect(stdout).toContain('Name a folder on a local disk.')
  },
)

test('a Node without node:sqlite', { timeout: TIME_MS }, async () => {
  const folder = ownFolder()
  const { stdout } = await runProgram(process.execPath, ['--no-experimental-sqlite', PROGRAM, folder])
  expect(stdout).toContain('store_unsupported')
  expect(stdout).toContain('has no `node:sqlite`. Use Node 22.13 or later')
})

onSmallDisk('a disk that is mounted read-only', TIME_MS, async (mountDisk) => {
  const disk = mountDisk(DISK_BYTES)
  execFileSync('mount', ['-o', 'remount,ro', disk])
  const { stdout } = await runProgram(process.execPath, [PROGRAM, join(disk, 'spool')])
  expect(stdout).toContain('spool_unusable')
  expect(stdout).toContain('The file system is read-only. Mount a writable disk there, or name a folder on one.')
})

onSmallDisk(
  'a full disk while the store is away answers 503, and 204 as soon as it has room',
  TIME_MS,
  async (mountDisk) => {
    const disk = mountDisk(DISK_BYTES)
    const store = faultyStore(memoryStore())
    const { receiver, url, errors } = await receiving({ store, spool: join(disk, 'spool') })
    await receiver.start()
    store.fault = 'throws'
    expect((await post(url, callback.smsDelivery({ messageId: 'before' }))).status).toBe(204)
    const free = fill(disk)
    const answers: number[] = []
    for (let nth = 0; nth < 40 && !answers.includes(503); nth += 1)
      answers.push(
        (await post(url, { ...callback.smsDelivery({ messageId: `m${nth}` }), pad: 'x'.repeat(60_000) })).status,
      )
    expect(answers.at(-1)).toBe(503)
    expect(errors.map(({ code }) => code)).toContain('spool_failed')
    free()
    const later = async () => (await post(url, callback.smsDelivery({ messageId: 'after' }))).status
    await expect.poll(later, { timeout: 30_000 }).toBe(204)
    const kept = answers.filter((status) => status === 204).length
    const seen: string[] = []
    receiver.on('message.delivered', ({ messageId }) => void seen.push(messageId))
    store.fault = 'none'
    await expect.poll(() => seen, { timeout: 30_000 }).toContain('after')
    expect(seen).toContain('before')
    for (let nth = 0; nth < kept; nth += 1) expect(seen).toContain(`m${nth}`)
  },
)
