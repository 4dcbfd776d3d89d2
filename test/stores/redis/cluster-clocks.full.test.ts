/** The clocks of a cluster's servers are set, each by another time, while two processes work: everything runs once, nothing young goes. */
import { rmSync } from 'node:fs'
import { Redis } from 'ioredis'
import { redisStore } from 'messaging-webhooks/redis'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import type { MessageStore } from '../../../src/inbox/store.ts'
import { pruneStep } from '../../../src/inbox/pruning.ts'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { keyOf } from '../../../src/store-conformance/samples.ts'
import { sent } from '../../../src/store-conformance/sends.ts'
import { itemsOf, PAGE } from '../../../src/store-conformance/suite.ts'
import { serverFolder } from '../../support/servers/own-server.ts'
import { MASTERS, SLOTS } from '../../support/servers/redis-cluster.ts'
import { missingCompiler, settableClock } from '../../support/servers/settable-clock.ts'
import { titleWith } from '../../support/skipping.ts'
import { admit, claim, eventOf, opened as openedStore, settleAll } from '../postgres/events.ts'
import { useCluster } from './own-cluster.ts'
import { CLIENTS, clusterClientFor, describeRedis, freshPrefix } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }
const SOON = { timeout: 10_000 }
const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S
const MINUTE_MS = 60_000
/** Enough that each server has some, in every partition. */
const MANY = 60

const missing = missingCompiler()
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

describe.skipIf(missing !== undefined)(titleWith(missing, 'the servers’ own clocks'), () => {
  describeRedis('of a cluster', () => {
    const folders = Array.from({ length: MASTERS }, () => serverFolder('clock'))
    const clocks = folders.map(settableClock)
    afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))
    const nodes = useCluster(() => clocks.map(({ env }) => env))

    const set = (...aheadSeconds: readonly number[]): void =>
      clocks.forEach((clock, index) => clock.set(aheadSeconds[index] ?? 0))

    /** A prefix whose first partition, and so the time of the store, is that of the first server. */
    async function prefixAtFirst(): Promise<string> {
      const client = new Redis(nodes()[0]?.url() ?? '')
      onTestFinished(() => client.disconnect())
      for (;;) {
        const prefix = freshPrefix()
        if ((await client.cluster('KEYSLOT', createPartitions(prefix, 1).home.base)) < SLOTS / MASTERS - 1)
          return prefix
      }
    }

    async function opened(
      prefix: string,
      host: Parameters<typeof openedStore>[1] = {},
      name: (typeof CLIENTS)[number] = 'redis',
    ): Promise<MessageStore> {
      const { client, end } = clusterClientFor(name, nodes())
      onTestFinished(end)
      return openedStore(redisStore({ client, prefix }), host)
    }

    const messages = Array.from({ length: MANY }, (_, index) => `m${index}`)

    test.each([
      ['apart by hours from the start', [0, 2 * HOUR_S, -2 * HOUR_S], [0, 2 * HOUR_S, -2 * HOUR_S]],
      ['set back by two hours, the first alone', [0, 0, 0], [-2 * HOUR_S, 0, 0]],
      ['set ahead by two hours, all but the first', [0, 0, 0], [0, 2 * HOUR_S, 2 * HOUR_S]],
      ['set ahead by two hours, the first alone', [0, 0, 0], [2 * HOUR_S, 0, 0]],
      ['set back by two hours, all but the first', [0, 0, 0], [0, -2 * HOUR_S, -2 * HOUR_S]],
    ])('%s: waiting events and retries run within 10 s, each once', TIMEOUT, async (_, before, after) => {
      set(...before)
      const prefix = await prefixAtFirst()
      const processes = [await opened(prefix), await opened(prefix, {}, 'ioredis')]
      const [first, second] = processes
      if (first === undefined || second === undefined) throw new Error('Two processes were opened.')
      await admit(
        first,
        messages.map((message) => eventOf(message)),
      )
      const retried = await claim(first, { limit: MANY / 2 })
      expect(retried.length).toBeGreaterThan(0)
      expect(new Set(await settleAll(first, retried, { outcome: 'retry', inMs: 500 }))).toEqual(new Set([true]))
      set(...after)
      const run: string[] = []
      async function runDue(): Promise<number> {
        for (const open of processes) {
          const claims = await claim(open)
          run.push(...claims.map(({ id }) => id))
          await settleAll(open, claims)
        }
        return run.length
      }
      await expect.poll(runDue, SOON).toBe(MANY)
      expect(new Set(run).size).toBe(MANY)
      expect(await first.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
      expect(
        new Set(
          await admit(
            second,
            messages.map((message) => eventOf(message)),
          ),
        ),
      ).toEqual(new Set(['duplicate']))
    })

    test.each([
      ['every server', [40 * DAY_S, 40 * DAY_S, 40 * DAY_S]],
      ['the first server', [40 * DAY_S, 0, 0]],
      ['the last server', [0, 0, 40 * DAY_S]],
    ])(
      '40 days ahead, %s, for half an hour: deletes nothing, and makes no message overdue',
      TIMEOUT,
      async (_, ahead) => {
        set(0, 0, 0)
        const prefix = await prefixAtFirst()
        let passedMs = 0
        const open = await opened(prefix, { elapsedMs: () => performance.now() + passedMs })
        await admit(
          open,
          messages.map((message) => eventOf(message)),
        )
        await settleAll(open, await claim(open, { limit: MANY }))
        await open.run(
          messages.map((message) => ({ do: 'expect', key: keyOf(`s${message}`), send: sent(`s${message}`) })),
        )
        async function look(ms: number): Promise<void> {
          passedMs += ms
          await claim(open)
          expect(await pruneStep(open)).toBe(0)
          expect((await open.due({ of: 'sends', limit: 10 })).keys).toEqual([])
        }
        await look(0)
        set(...ahead)
        for (const ms of [0, 10 * MINUTE_MS, 20 * MINUTE_MS]) await look(ms)
        const starting = await opened(prefix)
        expect(await pruneStep(starting)).toBe(0)
        set(0, 0, 0)
        await look(40 * MINUTE_MS)
        expect(await itemsOf(open, { of: 'events', ...PAGE, limit: MANY + 1 })).toHaveLength(MANY)
      },
    )
  })
})
