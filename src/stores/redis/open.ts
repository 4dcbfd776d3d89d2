/** Opens a store on a Redis: the layout of its keys, the check of its memory policy, and what wakes it. */
import { randomBytes } from 'node:crypto'
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError, OptionsError } from '../../errors.ts'
import type { OpenStore, StoreHost } from '../../inbox/store.ts'
import { createAdmission } from './admission.ts'
import { createUnanswered } from './calls.ts'
import { createClaiming } from './claiming.ts'
import type { Adapter, Reply } from './clients/connection.ts'
import { createDamageReports } from './damage.ts'
import { createEmptiedWatch } from './emptied.ts'
import type { Engine, Retention } from './engine.ts'
import { createExpecting } from './expecting.ts'
import { createForgetting } from './forgetting.ts'
import { createHolderList } from './holder-list.ts'
import { createHolders, type GiveBack } from './holders.ts'
import { createListing } from './listing.ts'
import { createPartitions } from './partitions.ts'
import { createPruning } from './pruning.ts'
import { createReading } from './reading.ts'
import { integer, list, text } from './replies.ts'
import { createScripted, script, type Scripted } from './scripted.ts'
import { createSettling } from './settling.ts'
import { wakeUp } from './wake-up.ts'
import { isError } from '../../is-error.ts'

export interface RedisSettings {
  readonly client: Adapter
  readonly subscriber: Adapter | undefined
  readonly prefix: string
  readonly partitions: number
  readonly retention: Retention
  readonly commandTimeoutMs: number
  readonly pollIntervalMs: number
  /** What scripts take for the server's time; for tests that tell the time. Default: the server's clock. */
  readonly serverNow?: (nowMs: number) => number
}

const VERSION = 1

export async function openRedis(settings: RedisSettings, host: StoreHost): Promise<OpenStore> {
  const { client, subscriber, prefix, partitions: count, retention, commandTimeoutMs, serverNow } = settings
  const clock = systemClock()
  const redis = createScripted(client, clock, commandTimeoutMs)
  const adapters = subscriber === undefined ? [client] : [client, subscriber]
  const closers: (() => unknown)[] = [() => redis.end()]

  async function closeAll(): Promise<void> {
    for (const close of closers.splice(0).reverse()) await close()
  }

  async function open(): Promise<OpenStore> {
    for (const adapter of adapters) {
      adapter.ignoreErrors()
      if (!adapter.isIdle()) continue
      closers.push(() => adapter.disconnect())
      // It may take longer than anybody waits; the commands wait for it in time.
      adapter.connect().catch(() => {})
    }
    const layout = (): Promise<readonly [number, number]> => readLayout(redis, `${prefix}:layout`, count)
    const [version, partitionsThere] = await layout()
    if (version > VERSION)
      throw new MessagingWebhooksError(
        'store_newer',
        `The keys have version ${version}; this package knows ${VERSION}.`,
      )
    if (partitionsThere !== count)
      throw new OptionsError(
        `redisStore: partitions is ${count}, but the prefix "${prefix}" was first used with ${partitionsThere}; it cannot be changed.`,
      )
    const problem = await evictionProblem(redis)
    if (problem !== undefined) host.report?.(problem)
    const partitions = createPartitions(prefix, count, client.isCluster)
    const instance = randomBytes(6).toString('base64url')
    let calls = 0
    let toldTime = ''
    const engine: Engine = {
      redis,
      partitions,
      retention,
      timeFor: serverNow === undefined ? () => '' : (nowMs) => (toldTime = String(serverNow(nowMs))),
      latestTime: () => toldTime,
      damage: createDamageReports((error) => host.report?.(error)),
      nextCall: () => `${instance}${(calls += 1).toString(36)}`,
    }
    const channel = `${prefix}:work`
    if (host.claims !== false) closers.push(await wakeUp({ ...settings, engine, clock, channel, onWork: host.onWork }))
    function announce(): void {
      // Who does not hear of it looks by itself.
      redis.ask(['PUBLISH', channel, '']).catch(() => {})
    }
    const emptied = createEmptiedWatch({
      engine,
      clock,
      report: (error) => host.report?.(error),
      restoreLayout: layout,
    })
    closers.push(() => emptied.end())
    const holders = createHolders({ engine, clock, instance, host, announce })
    closers.push(() => holders.leave())
    await Promise.all([emptied.begin(), host.claims === false ? undefined : holders.begin()])
    const unanswered = createUnanswered(engine, holders)
    const expecting = createExpecting(engine, announce)
    const settling = createSettling(engine, () => clock.soon(host.onWork))
    const giveBack: GiveBack = (claims, nowMs) => {
      if (claims.length === 0) return
      const settlements = claims.map((claim) => ({ ...claim, outcome: 'unbegun', dueMs: nowMs }) as const)
      settling.settle(settlements, nowMs).then(host.onWork, () => {})
    }
    return {
      ...createAdmission({ engine, unanswered, holders, expecting, giveBack, announce, onWork: host.onWork }),
      claim: createClaiming({ engine, unanswered, holders, expecting, settle: settling.settle, giveBack }),
      isHeld: holders.isHeld,
      ...createHolderList(engine, holders),
      ...settling,
      ...createReading(engine),
      ...createListing(engine),
      ...createForgetting(engine),
      expect: expecting.expect,
      overdue: expecting.overdue,
      awaitNoMore: expecting.awaitNoMore,
      expectations: expecting.expectations,
      sentTo: expecting.sentTo,
      prune: createPruning(engine),
      close: closeAll,
    }
  }

  try {
    return await open()
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** What stands there, or our own where nothing does. Rejects with `store_foreign` where it is somebody else's. */
async function readLayout(redis: Scripted, key: string, count: number): Promise<readonly [number, number]> {
  const reply = await redis.run(layoutScript, [key], [VERSION, count]).catch((error: unknown) => {
    if (isError(error) && error.message.startsWith('WRONGTYPE')) return []
    throw error
  })
  const [version, partitions] = list(reply)
  if (!Buffer.isBuffer(version) || !Buffer.isBuffer(partitions))
    throw new MessagingWebhooksError('store_foreign', `The key is ${key}.`)
  return [integer(version), integer(partitions)]
}

/**
 * Enters the layout of the keys under a prefix, unless there is one. KEYS[1]: where it stands. ARGV: version, partitions.
 * Returns what stands there.
 */
const layoutScript = script(/* lua */ `
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'version', ARGV[1], 'partitions', ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'version', 'partitions')
`)

/** An error to report where events may be lost, or nobody can say; undefined where all is well. */
async function evictionProblem(redis: Scripted): Promise<MessagingWebhooksError | undefined> {
  const policies = (await policiesOf(redis, configured)) ?? (await policiesOf(redis, informed))
  if (policies === undefined)
    return new MessagingWebhooksError('store_evicts', 'It could not be asked: it allows neither CONFIG GET nor INFO.')
  const bad = policies.find((policy) => policy !== 'noeviction')
  return bad === undefined ? undefined : new MessagingWebhooksError('store_evicts', `Its maxmemory-policy is ${bad}.`)
}

type Ask = (redis: Scripted) => Promise<readonly (string | undefined)[]>

async function policiesOf(redis: Scripted, ask: Ask): Promise<readonly string[] | undefined> {
  try {
    const policies = await ask(redis)
    return policies.length > 0 && policies.every((policy) => policy !== undefined) ? policies : undefined
  } catch {
    // Many hosted servers forbid CONFIG, some INFO.
    return undefined
  }
}

const configured: Ask = async (redis) =>
  (await redis.askAll(['CONFIG', 'GET', 'maxmemory-policy'])).map((reply: Reply) => {
    const [, policy] = list(reply)
    return policy === undefined ? undefined : text(policy)
  })

const informed: Ask = async (redis) =>
  (await redis.askAll(['INFO', 'memory'])).map((reply) => /^maxmemory_policy:(\S+)/m.exec(text(reply))?.[1])
