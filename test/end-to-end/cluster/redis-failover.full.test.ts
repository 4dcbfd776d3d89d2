/**
 * Kills the primary of a Redis under load while Sentinel or the cluster promotes its replica: with `waitReplicas` no event
 * answered 204 is lost, and no event runs twice at once or out of order. `FAILOVERS` (`npm run test:cluster`: five) sets the number;
 * with it, the test also measures the losses without `waitReplicas`.
 */
import { Redis } from 'ioredis'
import { test } from 'vitest'
import { hasRedis, REDIS_PASSWORD, startRedis, type RedisServer } from '../../support/servers/redis.ts'
import { addReplicas, startRedisCluster } from '../../support/servers/redis-cluster.ts'
import { FAILOVER_MS, REPLICABLE, startReplica, startSentinel } from '../../support/servers/redis-replica.ts'
import type { StoreSpec } from '../../support/servers/store-spec.ts'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { startCluster } from './cluster.ts'
import type { Finally } from './instance.ts'
import { startUnderLoad } from './under-load.ts'
import { firstBeginAfterMs, judge, NOTHING_WRONG } from './verdict.ts'

const FAILOVERS = process.env['FAILOVERS']
const POLL = { timeout: 60_000, interval: 50 }
const TIMEOUT_MS = 300_000

const missing = hasRedis() ? undefined : 'redis-server is not installed'
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

interface Case {
  readonly through: 'sentinel' | 'cluster'
  readonly appendfsync: 'always' | 'everysec'
  readonly waitReplicas: number
  /** Replication delay. */
  readonly lagMs: number
  /** Whether handlers run meanwhile. If not, only the store holds the events, so every lost one shows. */
  readonly dispatch: boolean
}

const WAITING: readonly Case[] = [
  { through: 'sentinel', appendfsync: 'everysec', waitReplicas: 1, lagMs: 20, dispatch: true },
  { through: 'cluster', appendfsync: 'everysec', waitReplicas: 1, lagMs: 0, dispatch: true },
]
const MEASURED = ([0, 1] as const).flatMap((waitReplicas): readonly Case[] => [
  ...([0, 20, 200] as const).map((lagMs): Case => ({
    through: 'sentinel',
    appendfsync: 'everysec',
    waitReplicas,
    lagMs,
    dispatch: false,
  })),
  { through: 'sentinel', appendfsync: 'always', waitReplicas, lagMs: 20, dispatch: false },
  { through: 'cluster', appendfsync: 'everysec', waitReplicas, lagMs: 0, dispatch: false },
])

interface Servers {
  readonly spec: StoreSpec
  readonly primary: RedisServer
  /** The replicas; one of them is promoted. */
  readonly replicas: readonly RedisServer[]
  /** Ends the primary and discards what the replicas have not received. */
  fail(): Promise<void>
}

async function withSentinel({ appendfsync, lagMs }: Case, onFinished: Finally): Promise<Servers> {
  const primary = await startRedis({ settings: { ...REPLICABLE, appendfsync } })
  onFinished(primary.remove)
  const link = await startTcpProxy(primary.port)
  onFinished(link.close)
  // Two replicas: the new primary must have one to wait for.
  const start = () => startReplica({ ...primary, port: link.port }, { appendfsync })
  const replicas = await Promise.all([start(), start()])
  for (const { remove } of replicas) onFinished(remove)
  const sentinel = await startSentinel(primary)
  onFinished(sentinel.remove)
  const url = `redis://default:${encodeURIComponent(REDIS_PASSWORD)}@127.0.0.1:${sentinel.port}`
  link.delayMs = lagMs
  async function fail(): Promise<void> {
    link.cut()
    await primary.stop()
  }
  return { spec: { engine: 'redis', url, name: 'failover', through: 'sentinel' }, primary, replicas, fail }
}

/** Each master has a replica; the first master fails. */
async function withCluster({ appendfsync }: Case, onFinished: Finally): Promise<Servers> {
  const settings = { appendfsync, 'cluster-node-timeout': '1000' }
  const masters = await startRedisCluster(settings)
  for (const { remove } of masters) onFinished(remove)
  const replicas = await addReplicas(masters, settings)
  for (const { remove } of replicas) onFinished(remove)
  const [primary, other] = masters
  const [replica] = replicas
  if (primary === undefined || other === undefined || replica === undefined)
    throw new Error('The cluster is incomplete.')
  return {
    spec: { engine: 'redis', url: other.url(), name: 'failover', through: 'cluster' },
    primary,
    replicas: [replica],
    fail: async () => primary.stop(),
  }
}

async function roleOf(server: RedisServer): Promise<string> {
  const client = new Redis(server.url())
  client.on('error', () => {})
  try {
    return String(((await client.call('ROLE')) as readonly unknown[])[0])
  } finally {
    client.disconnect()
  }
}

const cases =
  FAILOVERS === undefined ? WAITING : Array.from({ length: Number(FAILOVERS) }, () => [...WAITING, ...MEASURED]).flat()

test.skipIf(missing !== undefined).for(cases)(
  'the primary is killed under load, and $through promotes its replica ($appendfsync, waitReplicas $waitReplicas, $lagMs ms, dispatch $dispatch)',
  { timeout: TIMEOUT_MS },
  async (one, context) => {
    const { expect, onTestFinished } = context
    const { through, appendfsync, waitReplicas, lagMs, dispatch } = one
    const { spec, primary, replicas, fail } = await (through === 'sentinel' ? withSentinel : withCluster)(
      one,
      onTestFinished,
    )
    const stores = [{ ...spec, waitReplicas }]
    const settings = { storeTimeoutMs: 5_000, dispatch }
    const { cluster, load, answered, moreAnswers, untilSpoolsAreEmpty, expectOnly204 } = await startUnderLoad(
      2,
      stores,
      settings,
      context,
      { pauseMs: 10 },
    )
    await moreAnswers()
    const endedNs = process.hrtime.bigint()
    await fail()
    const answeredBefore = answered.size
    await expect.poll(() => Promise.all(replicas.map(roleOf)), POLL).toContain('master')
    const promotedNs = process.hrtime.bigint()
    // It returns as the replica of the new primary. A Sentinel reconfigures it some seconds later.
    if (through === 'cluster') await primary.start()
    await moreAnswers()
    await load.stop()
    // Until the other replica follows the new primary, the store confirms nothing. Sentinel repeats a lost request to it later.
    await untilSpoolsAreEmpty(2 * FAILOVER_MS)

    const { instances, lives } = dispatch ? cluster : await startCluster(1, stores, {}, onTestFinished)
    for (const instance of instances) expect(await instance.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
    const verdict = judge(lives, load.record)
    const resumed = dispatch
      ? `, dispatch resumed ${Math.round(firstBeginAfterMs(lives, promotedNs))} ms after that`
      : ''
    console.log(
      `redis by ${through}, appendfsync ${appendfsync}, waitReplicas ${waitReplicas}, replica ${lagMs} ms behind: ` +
        `${answeredBefore} events answered 204 before, ${verdict.lost.length} lost; promoted after ` +
        `${Math.round(Number(promotedNs - endedNs) / 1e6)} ms${resumed}; ${verdict.summary}`,
    )
    if (waitReplicas > 0) expect(verdict).toMatchObject(NOTHING_WRONG)
    await expectOnly204()
  },
)
