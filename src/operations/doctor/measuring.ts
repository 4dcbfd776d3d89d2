/** Measurements that need more than one probe: response time, body limit and idle timeout. */
import { pause } from '../../runtime/clock.ts'
import type { Answered, ProbePair, Unanswered } from './answers.ts'
import { createExchange, type Exchange, type Target } from './asking.ts'
import { finding, type DoctorFinding } from './findings.ts'
import { judgeKeepAlive } from './judging.ts'

const PROBES = 5
/** The service expects a prompt answer. */
const PROMPT_MS = 1_000

/** Measures the median of five answers, because one may be slow, for example while the store opens. */
export async function measureTime({ ask }: Exchange, pair: ProbePair): Promise<readonly DoctorFinding[]> {
  const tookMs: number[] = []
  for (let time = 0; time < PROBES; time += 1) {
    const { reply } = await ask({ pair })
    if (reply.kind === 'report') tookMs.push(reply.tookMs)
  }
  if (tookMs.length < PROBES) return [finding('uneven', `${PROBES - tookMs.length} of ${PROBES} failed.`)]
  const medianMs = tookMs.toSorted((a, b) => a - b)[Math.floor(PROBES / 2)] ?? 0
  return medianMs > PROMPT_MS ? [finding('slow', `The median is ${Math.round(medianMs)} ms.`)] : [finding('quick')]
}

/** Maximum size of a probe. A larger body takes time, and an app with a higher limit has set it on purpose. */
const LARGEST_BYTES = 1024 * 1024
const SMALLEST_BYTES = 1_024
/** Keeps a probe below the limit even if its body grows slightly in transit, which is a different finding. */
const SLACK_SHARE = 1 / 64

/** Sends a body of the size that the receiver accepts, and halves it until one arrives. */
export async function measureBodyLimit(
  { ask }: Exchange,
  pair: ProbePair,
  maxBodyBytes: number,
): Promise<readonly DoctorFinding[]> {
  const largest = Math.floor(Math.min(maxBodyBytes, LARGEST_BYTES) * (1 - SLACK_SHARE))
  let refused: string | undefined
  for (let length = largest; length >= SMALLEST_BYTES; length = Math.floor(length / 2)) {
    const { reply, outcome } = await ask({ pair, length })
    if (reply.kind === 'report')
      return refused === undefined
        ? [finding('body_fits', `Tested with ${largest} bytes.`)]
        : [finding('body_limit', `${refused}; one of ${length} got through. \`maxBodyBytes\` is ${maxBodyBytes}.`)]
    const how = outcome.kind === 'answered' ? `was answered ${outcome.status}` : `had no answer (${outcome.code})`
    refused = `A body of ${length} bytes ${how}`
  }
  return refused === undefined ? [] : [finding('body_limit', `${refused}; \`maxBodyBytes\` is ${maxBodyBytes}.`)]
}

/**
 * `knownMs`: the idle timeout in the app's settings; otherwise the answer of the app may name it. If the proxy's idle timeout is
 * known, sends two probes on one connection with that pause in between.
 */
export async function measureIdle(
  target: Target,
  pair: ProbePair,
  { proxyIdleMs, knownMs }: { readonly proxyIdleMs: number | undefined; readonly knownMs: number | undefined },
): Promise<DoctorFinding> {
  if (proxyIdleMs === undefined && knownMs !== undefined) return judgeKeepAlive(knownMs, undefined)
  const { ask, close } = await createExchange(target, { keepAlive: true })
  try {
    const announcedMs = knownMs ?? timeoutIn((await ask({ pair })).outcome)
    if (proxyIdleMs === undefined) return judgeKeepAlive(announcedMs, undefined)
    await ask({ pair })
    await pause(target.clock, proxyIdleMs)
    const { outcome } = await ask({ pair })
    if (outcome.kind === 'unanswered' && outcome.reused)
      return finding('keep_alive_short', `A probe after a pause of ${proxyIdleMs} ms was lost (${outcome.code}).`)
    return outcome.reused
      ? judgeKeepAlive(announcedMs ?? Infinity, proxyIdleMs)
      : finding('keep_alive_short', `The connection was closed during a pause of ${proxyIdleMs} ms.`)
  } finally {
    close()
  }
}

/** Parses `Keep-Alive: timeout=5`. */
function timeoutIn(outcome: Answered | Unanswered): number | undefined {
  const header = outcome.kind === 'answered' ? outcome.headers['keep-alive'] : undefined
  const [, seconds] = typeof header === 'string' ? (/timeout=(\d{1,6})/.exec(header) ?? []) : []
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
