/** What an event costs in the server's memory: measured, printed, and bounded. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { callback } from 'messaging-webhooks/testing'
import { admit, claim, sample, settleAll } from '../../../src/store-conformance/samples.ts'
import type { NewEvent } from '../../../src/messages/event-record.ts'
import { clientFor, opened, describeRedis, useRedis } from './own-redis.ts'

/** Set EVENTS=… for more; the figures hardly change. */
const MESSAGES = Math.ceil(Number(process.env['EVENTS'] ?? 3_000) / 3)
const A_BATCH = 500
const TIMEOUT = { timeout: 600_000 }

/** Sent, delivered and read reports of one message, each of a usual size. */
function eventsOf(message: number): readonly NewEvent[] {
  return [1, 2, 3].map((at) => {
    const messageId = `0f8fad5b-d9cb-469f-a165-${String(message).padStart(12, '0')}`
    return sample({
      message: messageId,
      at,
      name: `${messageId} ${at}`,
      final: at === 2,
      raw: Buffer.from(JSON.stringify({ ...callback.smsDelivery({ messageId }), authKey: '*'.repeat(32) })),
    })
  })
}

describeRedis('memory per event', () => {
  const server = useRedis({ appendonly: 'no' })

  test.each([
    { retentionDays: 1, waiting: 2_500, settled: 2_100 },
    { retentionDays: 0, waiting: 2_500, settled: 850 },
  ])('with retentionDays $retentionDays', TIMEOUT, async ({ retentionDays, ...most }) => {
    const admin = new Redis(server().url())
    onTestFinished(() => admin.disconnect())
    const used = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
    await admin.flushall('SYNC')
    const open = await opened(clientFor('redis', server().url()), { retentionDays })
    const events = Array.from({ length: MESSAGES }, (_, message) => eventsOf(message)).flat()
    const bodies = events.reduce((total, { raw }) => total + raw.length, 0)
    const before = await used()
    for (let from = 0; from < events.length; from += A_BATCH) await admit(open, events.slice(from, from + A_BATCH))
    const waiting = (await used()) - before
    for (;;) {
      const { claims } = await claim(open, { limit: A_BATCH })
      if (claims.length === 0) break
      await settleAll(open, claims)
    }
    const settled = (await used()) - before
    const each = (bytes: number): number => Math.round(bytes / events.length)
    console.log(
      `Redis, retentionDays ${retentionDays}: ${each(waiting)} bytes a waiting event, ${each(settled)} a settled one (three events a message, body of ${each(bodies)} bytes).`,
    )
    expect(each(waiting)).toBeLessThan(most.waiting)
    expect(each(settled)).toBeLessThan(most.settled)
  })
})
