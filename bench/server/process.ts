/** A server in a process of its own: one contender, with no other contender in its memory or compiled code. */
import { once } from 'node:events'
import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONTENDERS, type ContenderName } from '../contenders/table.ts'
import type { StartOptions } from '../contenders/contender.ts'
import { answerQuestions } from '../processes/asking.ts'
import { sharedNowMs } from '../processes/clock.ts'

export type ServerQuestion =
  | { readonly listen: true }
  /** Waits until this many callbacks have completed in total. `gc`: collects garbage before measuring memory. */
  | { readonly settled: number; readonly gc: boolean }
  /** Waits until all callbacks have completed; asks how many of them this process has handled since its start. */
  | { readonly share: true }
  /** Measures memory at once, without waiting for work in progress. */
  | { readonly weigh: true; readonly gc: boolean }
  | { readonly close: true; readonly remove: boolean }

export interface Listening {
  readonly port: number
}

export interface Share {
  readonly handled: number
}

export interface ServerState {
  /** When the last handler was called, on the clock that all processes share; 0 if none was called. */
  readonly lastHandledAtMs: number
  /** CPU time of all threads since the start. */
  readonly cpuMs: number
  readonly rssBytes: number
  readonly heapBytes: number
  /** Memory outside the heap. */
  readonly bufferBytes: number
  /** The longest pause of the garbage collector in the main thread since the last forced collection. */
  readonly longestPauseMs: number
}

export interface Closed {
  readonly closed: true
}

/** Pause after a collection: sweeping runs on the same core afterwards and must not count against the round. */
const SWEPT_BYTES_A_MS = 1_048_576

const [name = '', options = '{}'] = process.argv.slice(2)
// The parent takes both names from the same tables.
const contender = CONTENDERS[name as ContenderName]
const running = await contender.start(JSON.parse(options) as StartOptions)
const { server, tally } = running

let longestPauseMs = 0
const pauses = new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longestPauseMs = Math.max(longestPauseMs, duration)
})
pauses.observe({ entryTypes: ['gc'] })

answerQuestions(async (asked): Promise<Listening | Share | ServerState | Closed> => {
  // Only `server.ts` asks questions.
  const question = asked as ServerQuestion
  if ('listen' in question) {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error(`${name} listens on no port.`)
    return { port: address.port }
  }
  if ('close' in question) {
    server.closeAllConnections()
    server.close()
    await running.close(question)
    return { closed: true }
  }
  if ('weigh' in question) {
    if (question.gc) globalThis.gc?.()
    return state()
  }
  await running.settle()
  if ('share' in question) return { handled: tally.handled }
  if (tally.handled !== question.settled)
    throw new Error(`${name}: handlers got ${tally.handled} of ${question.settled} callbacks.`)
  if (question.gc) {
    globalThis.gc?.()
    await sleep(process.memoryUsage().heapUsed / SWEPT_BYTES_A_MS)
    longestPauseMs = 0
  }
  return state()
})

function state(): ServerState {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  const lastHandledAtMs = tally.handled === 0 ? 0 : sharedNowMs() - tally.sinceLastMs
  return {
    lastHandledAtMs,
    cpuMs: (user + system) / 1_000,
    rssBytes: rss,
    heapBytes: heapUsed,
    bufferBytes: arrayBuffers,
    longestPauseMs,
  }
}
