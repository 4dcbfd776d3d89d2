/** Somebody empties one server of a cluster: it is reported with the number of partitions that it had. */
import { Redis } from 'ioredis'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { useCluster } from './own-cluster.ts'
import { CLIENTS, clusterClientFor, describeRedis, freshPrefix, opened } from './own-redis.ts'

const PATIENT = { timeout: 180_000 }
const POLL = { timeout: 60_000 }

describeRedis('one server of a cluster is emptied', () => {
  const nodes = useCluster()

  test.each(CLIENTS)('with the client %s', PATIENT, async (name) => {
    const errors: MessagingWebhooksError[] = []
    const host = { onWork() {}, report: (error: MessagingWebhooksError) => void errors.push(error) }
    const prefix = freshPrefix()
    await opened(clusterClientFor(name, nodes()), { partitions: 24, prefix }, host)
    const [first] = nodes()
    const admin = new Redis(first?.url() ?? '')
    onTestFinished(() => admin.disconnect())
    // Each partition has one mark.
    const marks = (await admin.keys(`${prefix}:*:mark`)).length
    expect(marks).toBeGreaterThan(0)
    expect(marks).toBeLessThan(24)

    await admin.flushall()
    await expect.poll(() => errors.map(({ code }) => code), POLL).toContain('store_emptied')
    const reported = (): number =>
      errors.reduce((sum, { message }) => sum + Number(/(\d+) of 24 partitions/.exec(message)?.[1] ?? 0), 0)
    await expect.poll(reported, POLL).toBe(marks)
    expect((await admin.keys(`${prefix}:*:mark`)).length).toBe(marks)
  })
})
