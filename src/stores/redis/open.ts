/** Opens a Redis store: checks the layout of its keys and the memory policy, starts its wake-ups, and composes its parts. */
import { systemClock } from '../../runtime/clock.ts'
import type { OpenStore, StoreHost } from '../../inbox/store.ts'
import type { Retention } from '../../messages/retention.ts'
import { openServerStore } from '../server-store.ts'
import { answered } from '../workers.ts'
import { connectIdle, type Adapter } from './clients/connection.ts'
import { createPartitions } from './partitions.ts'
import { watch } from '../watch.ts'
import { watchEmptied } from './watching.ts'
import { createServerTimes, readTime, type Engine } from './engine.ts'
import { enterLayout, evictionProblem } from './server.ts'
import { createFinding, isAnyDue } from './finding.ts'
import { createRecords } from './records.ts'
import { createScans } from './scanning.ts'
import { createScripted, type Replicas } from './scripted.ts'
import { leasingPart } from './workers.ts'

/** Time limit for closing, because a server may be unavailable. */
const LEAVE_MS = 1_500
const MOST_WAIT_MS = 1_000

/** A client sends nothing else while it waits for replicas, so it waits for less time than its callers. */
function replicasOf({ waitReplicas = 0, commandTimeoutMs }: RedisSettings): Replicas | undefined {
  if (waitReplicas === 0) return undefined
  return { count: waitReplicas, withinMs: Math.max(1, Math.min(MOST_WAIT_MS, Math.floor(commandTimeoutMs / 2))) }
}

export interface RedisSettings {
  readonly client: Adapter
  readonly subscriber: Adapter | undefined
  readonly prefix: string
  /** Default: those that the prefix was first used with. */
  readonly partitions?: number | undefined
  readonly retention: Retention
  /** Default 0. */
  readonly waitReplicas?: number
  readonly commandTimeoutMs: number
  readonly pollIntervalMs: number
  /**
   * The clock that decides what is due and when a lease ends. `caller` is for tests that advance a clock. Default: `server`.
   */
  readonly clock?: 'server' | 'caller'
}

export async function openRedis(settings: RedisSettings, host: StoreHost): Promise<OpenStore> {
  const { client, subscriber, prefix, partitions: wanted, retention, commandTimeoutMs, pollIntervalMs } = settings
  const redis = createScripted(client, commandTimeoutMs, replicasOf(settings))
  const closers: (() => unknown)[] = [() => redis.end()]

  async function closeAll(): Promise<void> {
    for (const close of closers.splice(0).reverse()) await close()
  }

  async function open(): Promise<OpenStore> {
    for (const adapter of [client, ...(subscriber === undefined ? [] : [subscriber])])
      closers.push(connectIdle(adapter))
    const count = await enterLayout(redis, prefix, wanted, client.isCluster)
    const layout = () => enterLayout(redis, prefix, count, client.isCluster)
    const report = host.report ?? (() => {})
    const problem = await evictionProblem(redis)
    if (problem !== undefined) report(problem)

    const partitions = createPartitions(prefix, count)
    const times = settings.clock === 'caller' ? undefined : createServerTimes()
    const engine: Engine = { redis, partitions, retention, times, report }
    const records = createRecords(engine)
    const channel = `${prefix}:work`
    // A process that claims nothing needs no notifications.
    if (host.claims !== false) {
      if (subscriber !== undefined)
        closers.push(await createScripted(subscriber, commandTimeoutMs).subscribe(channel, host.onWork))
      const isDue = (): Promise<boolean> => isAnyDue(engine, times?.nowMs() ?? systemClock().now())
      closers.push(watch(pollIntervalMs, isDue, (found) => found && host.onWork()))
    }
    await answered(partitions.all.map((partition) => readTime(engine, partition)))
    closers.push(await watchEmptied(engine, layout))
    const opened = await openServerStore({
      createStore(mayLease) {
        const finding = createFinding(engine, records, mayLease)
        return { ...finding, ...records, ...createScans(engine, records), async close() {} }
      },
      host,
      storeClock: times,
      retention,
      queryTimeoutMs: commandTimeoutMs,
      parts: partitions.all.map((partition) => leasingPart(engine, records, partition)),
      partOf: (recordKey) => partitions.of(recordKey).index,
      leaveMs: LEAVE_MS,
      waking: {
        notify() {
          // Processes that do not receive the message find the events by polling.
          redis.send(undefined, ['PUBLISH', channel, '']).catch(() => {})
        },
        stop() {},
      },
      close: closeAll,
    })
    return {
      ...opened,
      async admit(events, nowMs) {
        // After an outage the inbox uses this to check whether the server is available.
        if (events.length === 0) await redis.send(undefined, ['PING'])
        return opened.admit(events, nowMs)
      },
    }
  }

  try {
    return await open()
  } catch (error) {
    await closeAll()
    throw error
  }
}
