/**
 * The disk of a Redis with an append-only file is read-only for a while, as after an error of the disk. Its writes fail then, by strace:
 * a file system in use cannot be mounted read-only by a test.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { callback } from 'messaging-webhooks/testing'
import { redisStore } from 'messaging-webhooks/redis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { receiving, post } from '../../support/receiving.ts'
import { startRedis, type RedisServer } from '../../support/servers/redis.ts'
import { titleWith } from '../../support/skipping.ts'
import { whyNoStrace } from '../../end-to-end/strace.ts'
import { clientFor, describeRedis } from './own-redis.ts'

const TIMEOUT = { timeout: 60_000 }
const POLL = { timeout: 30_000, interval: 50 }

const missing = whyNoStrace()
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

/** From now on, each write of the server to its append-only file fails. Returns what mounts the disk writable again. */
async function mountReadOnly(server: RedisServer): Promise<() => Promise<void>> {
  const admin = new Redis(server.url())
  const [, pid] = /process_id:(\d+)/.exec(await admin.info('server')) ?? []
  const [, folder] = (await admin.config('GET', 'dir')) as readonly string[]
  admin.disconnect()
  const file = `${folder}/appendonlydir/appendonly.aof.1.incr.aof`
  const calls = ['-e', 'trace=write,writev', '-e', 'inject=write,writev:error=EROFS', '-e', 'signal=none']
  const strace = spawn('strace', ['-f', '-p', String(pid), '-P', file, ...calls], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(strace, 'exit')
  onTestFinished(() => void strace.kill())
  await once(strace.stderr, 'data') // "Process … attached"
  return async () => {
    strace.kill()
    await ended
  }
}

describe.skipIf(missing !== undefined)(titleWith(missing, 'a disk that is read-only for a while'), () => {
  describeRedis('of a Redis with an append-only file', () => {
    async function start(appendfsync: 'always' | 'everysec') {
      const server = await startRedis({ settings: { appendfsync } })
      onTestFinished(() => server.remove())
      const { client, end } = clientFor('redis', server.url())
      onTestFinished(end)
      const store = redisStore({ client, pollIntervalMs: 50 })
      const { receiver, errors, url } = await receiving({ store, storeTimeoutMs: 5_000, spool: false })
      const runs: string[] = []
      receiver.on('message.*', ({ messageId }) => void runs.push(messageId))
      await receiver.start()
      const send = async (messageId: string) => (await post(url, callback.smsDelivery({ messageId }))).status
      expect(await send('before')).toBe(204)
      return { server, receiver, errors, runs, send }
    }

    test('appendfsync everysec: 503 with the cause, and work again by itself', TIMEOUT, async () => {
      const { server, receiver, errors, runs, send } = await start('everysec')
      const mountWritable = await mountReadOnly(server)
      // Redis learns of it with the first write, which it has confirmed.
      await expect.poll(() => send(`${errors.length}`), POLL).toBe(503)
      expect(errors.map(({ cause }) => String(cause))).toContainEqual(expect.stringContaining('MISCONF'))
      expect((await receiver.health()).working).toBe(false)
      await mountWritable()
      await expect.poll(() => send('after'), POLL).toBe(204)
      await expect.poll(() => runs, POLL).toContain('after')
      await expect.poll(async () => (await receiver.health()).reasons, POLL).toEqual([])
    })

    test(
      'appendfsync always: the server ends, and what was answered 204 is there when it is back',
      TIMEOUT,
      async () => {
        const { server, runs, send } = await start('always')
        const mountWritable = await mountReadOnly(server)
        expect(await send('meanwhile')).toBe(503)
        await mountWritable()
        await server.start()
        await expect.poll(() => send('after'), POLL).toBe(204)
        await expect.poll(() => runs, POLL).toContain('after')
        // A write that was answered 503 may arrive late, once.
        expect(runs.filter((messageId) => messageId !== 'meanwhile').toSorted()).toEqual(['after', 'before'])
        expect(runs.length).toBeLessThan(4)
      },
    )
  })
})
