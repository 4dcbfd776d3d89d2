/** The load, a process of its own: makes reports, signs them for whoever is next, sends them. */
import { holdConnections } from './hold.ts'
import { answerQuestions } from '../processes/asking.ts'
import { makeReports, requestOf, type Report, type ReportsWanted } from './requests.ts'
import type { SchemeName } from './schemes.ts'
import { sendAll } from './send.ts'

export type LoadQuestion =
  /** New reports; those before are forgotten. */
  | { readonly make: ReportsWanted }
  | {
      /** Ports: each request goes to one of them. */
      readonly sendTo: readonly number[]
      readonly scheme: SchemeName
      readonly connections: number
      readonly expect: number
      readonly rate?: number | undefined
    }
  | { readonly hold: number; readonly connections: number; readonly bodyBytes: number }
  | { readonly release: true }

export interface Made {
  readonly made: number
}

export interface Holding {
  readonly holding: boolean
}

export interface LoadResult {
  readonly startedAtMs: number
  readonly lastAnswerAtMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuShare: number
}

let held: { release(): void } | undefined
let reports: readonly Report[] = []
/** Signed once a round, also where several contenders share a sender. */
const signed = new Map<SchemeName, readonly Buffer[]>()

answerQuestions(async (asked): Promise<Made | LoadResult | Holding> => {
  // Only `load.ts` asks.
  const question = asked as LoadQuestion
  if ('make' in question) {
    signed.clear()
    reports = makeReports(question.make)
    return { made: reports.length }
  }
  if ('hold' in question) {
    held = await holdConnections(question.hold, question.connections, question.bodyBytes)
    return { holding: true }
  }
  if ('release' in question) {
    held?.release()
    return { holding: false }
  }
  const { sendTo: ports, scheme } = question
  const requests = signed.get(scheme) ?? reports.map((report) => requestOf(report, scheme))
  signed.set(scheme, requests)
  // What signing left behind is not collected while the clock runs.
  globalThis.gc?.()
  const { latenciesMs, ...sent } = await sendAll(requests, { ...question, ports })
  const at = (share: number): number => latenciesMs[Math.ceil(latenciesMs.length * share) - 1] ?? NaN
  return { ...sent, p50Ms: at(0.5), p99Ms: at(0.99) }
})
