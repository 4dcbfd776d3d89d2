/** Opens a Redis store: checks the layout of its keys and the memory policy, starts its wake-ups, and composes its parts. */
import type { MessageStore, StoreHost } from '../../inbox/store.ts'
import type { Retention } from '../../messages/commands.ts'
import { openServerStore } from '../server-store.ts'
import { answered } from '../workers.ts'
import type { Adapter } from './clients/connection.ts'
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
const MAX_WAIT_MS = 1_000

/** A client sends nothing else while it waits for replicas, so it waits for less time than its callers. */
function replicasOf({ waitReplicas = 0, commandTimeoutMs }: RedisSettings): Replicas | undefined {
  if (waitReplicas === 0) return undefined
  return { count: waitReplicas, withinMs: Math.max(1, Math.min(MAX_WAIT_MS, Math.floor(commandTimeoutMs / 2))) }
}

interface RedisSettings {
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
}

export async function openRedis(settings: RedisSettings, host: StoreHost): Promise<MessageStore> {
  const { client, subscriber, prefix, partitions: wanted, retention, commandTimeoutMs, pollIntervalMs } = settings
  const { report } = host
  const redis = createScripted(client, {
    timeoutMs: commandTimeoutMs,
    replicas: replicasOf(settings),
    report,
  })
  const closers: (() => unknown)[] = [() => redis.end()]

  async function closeAll(): Promise<void> {
    for (const close of closers.splice(0).reverse()) await close()
  }

  async function open(): Promise<MessageStore> {
    const count = await enterLayout(redis, prefix, wanted, client.isCluster)
    const layout = () => enterLayout(redis, prefix, count, client.isCluster)
    const problem = await evictionProblem(redis)
    if (problem !== undefined) report(problem)

    const partitions = createPartitions(prefix, count)
    const times = createServerTimes()
    const engine: Engine = { redis, partitions, retention, times, report }
    const records = createRecords(engine)
    const channel = `${prefix}:work`
    // A process that claims nothing needs no notifications.
    if (host.claims) {
      if (subscriber !== undefined) {
        const listening = createScripted(subscriber, { timeoutMs: commandTimeoutMs })
        closers.push(() => listening.end())
        closers.push(await listening.subscribe(channel, host.onWork))
      }
      const isDue = (): Promise<boolean> => isAnyDue(engine, times.nowMs())
      closers.push(watch(pollIntervalMs, isDue, (found) => found && host.onWork()))
    }
    await answered(partitions.all.map((partition) => readTime(engine, partition)))
    closers.push(await watchEmptied(engine, layout))
    return openServerStore({
      createEngine(mayLease) {
        const finding = createFinding(engine, records, mayLease)
        return { ...finding, ...records, ...createScans(engine, records, finding), nowMs: times.nowMs }
      },
      host,
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
  }

  try {
    return await open()
  } catch (error) {
    await closeAll()
    throw error
  }
}
