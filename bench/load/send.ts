/** Sends each request once over a number of connections and checks every answer. */
import { performance } from 'node:perf_hooks'
import { sharedNowMs } from '../processes/clock.ts'
import { openSpread, type Connection } from './connection.ts'

interface Sent {
  /** On the clock that all processes share. */
  readonly startedAtMs: number
  readonly lastAnswerAtMs: number
  /** Latency of each answer except the first ones, from when its request was sent, or was due at a fixed rate; sorted. */
  readonly latenciesMs: Float64Array
  /** CPU time of this process per second of one core: near 1, the load is the limit, not the server. */
  readonly cpuShare: number
}

/**
 * Excludes the first answers of a round from the latencies: all garbage was collected just before, and the server
 * was idle while others ran. At a fixed rate they would make up half of the slowest hundredth.
 */
const COLD_SHARE = 0.1

/** Interval between two checks of what is due. A request or an answer is late by at most this much. */
const LOOK_EVERY_MS = 0.1
const NEVER_NOTIFIED = new Int32Array(new SharedArrayBuffer(4))

interface SendOptions {
  /** Ports of the servers; requests are spread over them at random. */
  readonly ports: readonly number[]
  readonly connections: number
  /** The expected status; any other status is an error. */
  readonly expect: number
  /** Requests per second; default: each connection sends its next request as soon as it has an answer. */
  readonly rate?: number | undefined
}

/** Rejects at the first wrong answer and at the first broken connection. */
export async function sendAll(requests: readonly Buffer[], options: SendOptions): Promise<Sent> {
  const { ports, connections, expect, rate } = options
  const latencies = new Float64Array(requests.length)
  let fail = (_error: Error): void => {}
  const failing = new Promise<never>((_, reject) => {
    fail = reject
  })
  failing.catch(() => {})
  const open = await Promise.all(Array.from({ length: connections }, () => openSpread(ports, (error) => fail(error))))
  const cpuBefore = process.cpuUsage()
  const startedAtMs = sharedNowMs()
  const start = performance.now()
  const answered = new Promise<void>((resolve) => {
    let next = 0
    let missing = requests.length
    const idle: Connection[] = []

    /** Sends the next request if there is one and it is due. */
    function sendNext(connection: Connection): void {
      const index = next
      const request = requests[index]
      if (request === undefined) return
      const dueMs = rate === undefined ? performance.now() : start + (index * 1_000) / rate
      if (dueMs > performance.now()) {
        idle.push(connection)
        return
      }
      next += 1
      connection.send(request, (status) => {
        if (status !== expect) fail(new Error(`A request was answered ${status} instead of ${expect}.`))
        latencies[index] = performance.now() - dueMs
        missing -= 1
        if (missing === 0) resolve()
        else sendNext(connection)
      })
    }

    function sendDue(): void {
      for (const connection of idle.splice(0)) sendNext(connection)
      if (next === requests.length) return
      // A busy loop would take CPU time from other processes on this core, for example a database.
      Atomics.wait(NEVER_NOTIFIED, 0, 0, LOOK_EVERY_MS)
      setImmediate(sendDue)
    }

    for (const connection of open) sendNext(connection)
    if (rate !== undefined) sendDue()
  })
  try {
    await Promise.race([answered, failing])
  } finally {
    for (const connection of open) connection.close()
  }
  const lastAnswerAtMs = sharedNowMs()
  const { user, system } = process.cpuUsage(cpuBefore)
  const cpuShare = (user + system) / 1_000 / (lastAnswerAtMs - startedAtMs)
  return {
    startedAtMs,
    lastAnswerAtMs,
    latenciesMs: latencies.subarray(Math.floor(latencies.length * COLD_SHARE)).sort(),
    cpuShare,
  }
}
