/** Sends requests over a number of connections, each once, and looks at every answer. */
import { performance } from 'node:perf_hooks'
import { sharedNowMs } from '../processes/clock.ts'
import { openSpread, type Connection } from './connection.ts'

interface Sent {
  /** On the clock that all processes share. */
  readonly startedAtMs: number
  readonly lastAnswerAtMs: number
  /** Of each answer but the first ones, from when its request was sent, or was due where a rate was asked for; sorted. */
  readonly latenciesMs: Float64Array
  /** Of this process, for one of its core's seconds: near 1 it is the load that is measured, not the server. */
  readonly cpuShare: number
}

/**
 * The first answers of a round are not among the latencies: before it, all garbage was collected on purpose, and the server
 * had nothing to do while others ran. Of a fixed rate they would be half of the slowest hundredth.
 */
const COLD_SHARE = 0.1

/** How long to rest between two looks at what is due: this much later, at most, is something sent or an answer seen. */
const LOOK_EVERY_MS = 0.1
const NOBODY = new Int32Array(new SharedArrayBuffer(4))

interface SendOptions {
  /** Of the servers, over which the requests are spread at random. */
  readonly ports: readonly number[]
  readonly connections: number
  /** Any other status is an error. */
  readonly expect: number
  /** Requests a second; default: each connection sends its next as soon as it has an answer. */
  readonly rate?: number | undefined
}

/** Rejects at the first wrong answer and at the first connection that breaks. */
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

    /** Sends the next request, where there is one and it is due. */
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
      // A look-out that never rests would take the core from whoever else is on it, a database for example.
      Atomics.wait(NOBODY, 0, 0, LOOK_EVERY_MS)
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
