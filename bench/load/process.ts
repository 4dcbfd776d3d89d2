/** The load, in a process of its own: makes reports, signs them for each contender and sends them. */
import { holdConnections, type Held, type Holding } from './hold.ts'
import { answerQuestions } from '../processes/asking.ts'
import { latenciesOf, type Latencies } from './latencies.ts'
import { makeReports, requestOf, type Report, type ReportsWanted } from './requests.ts'
import type { SchemeName } from './schemes.ts'
import { sendAll } from './send.ts'

export type LoadQuestion =
  /** Makes new reports and discards the previous ones. */
  | { readonly make: ReportsWanted }
  | {
      /** Ports: each request goes to one of them. */
      readonly sendTo: readonly number[]
      readonly scheme: SchemeName
      readonly connections: number
      readonly expect: number
      readonly rate?: number | undefined
    }
  | { readonly hold: Holding }
  | { readonly release: true }

export interface Made {
  readonly made: number
}

export interface Released {
  /** How often slow clients were cut off since they were opened. */
  readonly cutOff: number
}

export interface LoadResult extends Latencies {
  readonly startedAtMs: number
  readonly lastAnswerAtMs: number
  readonly cpuShare: number
}

let held: Held | undefined
let reports: readonly Report[] = []
/** Signed once per round, even if several contenders share a scheme. */
const signed = new Map<SchemeName, readonly Buffer[]>()

answerQuestions(async (asked): Promise<Made | LoadResult | Released> => {
  // Only `load.ts` asks questions.
  const question = asked as LoadQuestion
  if ('make' in question) {
    signed.clear()
    reports = makeReports(question.make)
    return { made: reports.length }
  }
  if ('hold' in question) {
    held = holdConnections(question.hold)
    return { cutOff: 0 }
  }
  if ('release' in question) {
    return { cutOff: held?.release() ?? 0 }
  }
  const { sendTo: ports, scheme } = question
  const requests = signed.get(scheme) ?? reports.map((report) => requestOf(report, scheme))
  signed.set(scheme, requests)
  // Collect the garbage of signing before the clock runs.
  globalThis.gc?.()
  const { latenciesMs, ...sent } = await sendAll(requests, { ...question, ports })
  return { ...sent, ...latenciesOf(latenciesMs) }
})
