/** Derives findings from a receiver's report. Each function judges one part of the report. */
import type { CallbackKind } from '../../public/events.ts'
import type { ReportReply, Probe } from './answers.ts'
import { findChange, HEADER_CHANGES } from './changes.ts'
import { finding, type DoctorFinding } from './findings.ts'
import { digestOf, headerDigestOf, type Arrival, type Facts } from './protocol.ts'

/** Node's default, and the idle timeout of many clients. */
const SHORT_KEEP_ALIVE_MS = 5_000
export const OTHER_SECRET = 'The Auth Key matches; the signing secret does not.'

/** Compares the received probe with the sent one. */
export function judgeArrival({ body, signature }: Probe, arrival: Arrival): readonly DoctorFinding[] {
  if (arrival.isParsed) return [finding('parsed_before')]
  const found: DoctorFinding[] = []
  if (arrival.digest !== digestOf(body)) found.push(finding('bytes_changed', describeBody(body, arrival)))
  if (signature !== undefined) {
    if (arrival.headers === 0) found.push(finding('header_missing'))
    else if (arrival.headerDigest !== headerDigestOf([signature]))
      found.push(finding('header_changed', describeHeader(signature, arrival)))
  }
  return found.length > 0 ? found : [finding('proof_intact')]
}

function describeBody(body: Buffer, { digest, bytes }: Arrival): string {
  const change = findChange('what', body, (changed) => digestOf(changed) === digest)
  const lengths = `${body.length} bytes were sent, ${bytes} arrived.`
  return change === undefined ? `Unknown change: ${lengths}` : `Probable cause: ${change}. ${lengths}`
}

function describeHeader(signature: string, { headers, headerDigest }: Arrival): string {
  const change = HEADER_CHANGES.find(([, apply]) => headerDigestOf(apply(signature)) === headerDigest)
  if (change !== undefined) return `Probable cause: ${change[0]}.`
  return headers > 1 ? `It arrived ${headers} times.` : 'Unknown change.'
}

/** Judges whether the mount reads callbacks for this URL as their kind. */
export function judgeMount(asked: CallbackKind | undefined, { kind, lacksProject }: Facts): readonly DoctorFinding[] {
  const found = lacksProject ? [finding('project_missing')] : []
  // Without a kind, a mount reads delivery reports by their shape.
  if (asked === undefined || asked === kind || (asked === 'status' && kind === undefined)) return found
  const mounted = kind === undefined ? 'without a kind, which accepts only delivery reports' : `for \`${kind}\``
  return [finding('kind_differs', `It is mounted ${mounted}; \`${asked}\` was requested.`), ...found]
}

/** Finds a half of the pair that does not prove the probe. */
export function judgePair(
  { probe, facts: { proof, pair, arrival } }: ReportReply,
  isIntact: boolean,
): readonly DoctorFinding[] {
  const found: DoctorFinding[] = []
  if (pair.endsAtMs !== undefined)
    found.push(finding('pair_ends', `The app accepts it until ${new Date(pair.endsAtMs).toISOString()}.`))
  if (probe.pair.authKey !== undefined && pair.hasAuthKey && proof === 'signature')
    found.push(finding('pair_half', 'The signing secret matches; the Auth Key does not.'))
  if (probe.pair.secretKey !== undefined && !pair.hasSecret)
    found.push(finding('pair_half', 'The app has only the Auth Key and checks no signature.'))
  const isSigned = probe.signature !== undefined && !arrival.isParsed
  if (isSigned && pair.hasSecret && proof === 'authKey' && isIntact) found.push(finding('pair_half', OTHER_SECRET))
  return found
}

export function judgeClock({ facts, probe: { sentAtMs }, tookMs }: ReportReply): readonly DoctorFinding[] {
  const { arrivedAtMs, toleranceSeconds } = facts
  // Differences below the probe's round trip cannot be measured.
  const offMs = arrivedAtMs < sentAtMs ? arrivedAtMs - sentAtMs : Math.max(0, arrivedAtMs - sentAtMs - tookMs)
  const offSeconds = Math.round(offMs / 1_000)
  const what = `${describeOffset(offSeconds)}; signatures may be off by ${toleranceSeconds} s.`
  if (Math.abs(offSeconds) > toleranceSeconds) return [finding('clock_off', what)]
  if (Math.abs(offSeconds) > Math.max(2, toleranceSeconds / 10)) return [finding('clock_drifts', what)]
  return [finding('clock_right')]
}

export function describeOffset(seconds: number): string {
  const direction = seconds < 0 ? 'behind' : 'ahead of'
  return `The app’s clock is ${Math.abs(seconds)} s ${direction} this machine’s`
}

export function judgeKeepAlive(keepAliveMs: number | undefined, proxyIdleMs: number | undefined): DoctorFinding {
  if (keepAliveMs === undefined) return finding('keep_alive_unknown')
  const least = proxyIdleMs ?? SHORT_KEEP_ALIVE_MS
  if (keepAliveMs > least) return finding('keep_alive_long')
  const other =
    proxyIdleMs === undefined
      ? `many clients and proxies keep connections for ${least} ms or longer`
      : `the idle timeout of the proxy is ${least} ms`
  return finding('keep_alive_short', `\`server.keepAliveTimeout\` is ${keepAliveMs} ms, and ${other}.`)
}
