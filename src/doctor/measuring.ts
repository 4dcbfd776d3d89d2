/** What one probe does not show: how long answers take, how large a body may be, and how long a connection may rest. */
import type { Clock } from '../clock.ts'
import { createExchange, type Asked, type Exchange } from './asking.ts'
import { finding, type Finding } from './findings.ts'
import { judgeKeepAlive } from './judging.ts'
import type { ProbeForm, ProbePair } from './probe.ts'
import { createSender } from './sending.ts'

const PROBES = 5
/** The service asks for a prompt answer. */
const PROMPT_MS = 1_000

/** The median of five answers, for one may be slow by chance, as while the store is opened. */
export async function measureTime({ ask }: Exchange, form: ProbeForm): Promise<readonly Finding[]> {
  const tookMs: number[] = []
  for (let time = 0; time < PROBES; time += 1) {
    const { heard } = await ask(form)
    if (heard !== undefined) tookMs.push(heard.tookMs)
  }
  if (tookMs.length < PROBES)
    return [finding('uneven', `Of ${PROBES} probes like one that was answered, ${PROBES - tookMs.length} were not.`)]
  const medianMs = tookMs.toSorted((a, b) => a - b)[Math.floor(PROBES / 2)] ?? 0
  return medianMs > PROMPT_MS
    ? [finding('slow', `Half of them took ${Math.round(medianMs)} ms or more.`)]
    : [finding('quick')]
}

/** Sent at most: a receiver that takes more has said so on purpose, and the way there costs time. */
const LARGEST_BYTES = 1024 * 1024
const SMALLEST_BYTES = 1_024
/** So much room is left, for what changes a body a little is another fault. */
const SLACK_SHARE = 1 / 64

/** Sends one body of the size that the receiver takes; where it does not get through, halves it until one does. */
export async function measureBodyLimit(
  { ask }: Exchange,
  form: ProbeForm,
  maxBodyBytes: number,
): Promise<readonly Finding[]> {
  const largest = Math.floor(Math.min(maxBodyBytes, LARGEST_BYTES) * (1 - SLACK_SHARE))
  let refused: string | undefined
  for (let length = largest; length >= SMALLEST_BYTES; length = Math.floor(length / 2)) {
    const { heard, outcome } = await ask({ ...form, length })
    if (heard !== undefined)
      return refused === undefined
        ? [finding('body_fits', `One of ${largest} bytes did.`)]
        : [finding('body_limit', `${refused}; one of ${length} got through. \`maxBodyBytes\` is ${maxBodyBytes}.`)]
    const how = outcome.kind === 'answered' ? `was answered ${outcome.status}` : `had no answer (${outcome.code})`
    refused = `A body of ${length} bytes ${how}`
  }
  return refused === undefined ? [] : [finding('body_limit', `${refused}; \`maxBodyBytes\` is ${maxBodyBytes}.`)]
}

interface IdleOptions {
  readonly url: URL
  readonly pair: ProbePair
  readonly project: string | undefined
  readonly clock: Clock
  readonly timeoutMs: number
  readonly keepAliveMs: number | undefined
  readonly own: { readonly watch: { expect(messageId: string): void } } | undefined
}

/**
 * How long connections may rest, by what the app says, else by what its answer says. Where it is known how long a proxy leaves
 * them idle: two probes on one connection, with a pause of so long between them.
 */
export async function measureIdle(
  options: IdleOptions,
  form: ProbeForm,
  saidMs: number | undefined,
): Promise<readonly Finding[]> {
  const { url, clock, timeoutMs, keepAliveMs, own } = options
  if (keepAliveMs === undefined && saidMs !== undefined) return [judgeKeepAlive(saidMs, undefined)]
  const sender = await createSender(url, { clock, timeoutMs, keepAlive: true })
  const { ask } = createExchange({ ...options, sender, expect: (messageId) => own?.watch.expect(messageId) })
  try {
    const knownMs = saidMs ?? timeoutIn((await ask(form)).outcome)
    if (keepAliveMs === undefined) return [judgeKeepAlive(knownMs, undefined)]
    await ask(form)
    await new Promise<void>((resolve) => void clock.setTimer(resolve, keepAliveMs, true))
    const { outcome } = await ask(form)
    if (outcome.kind === 'unanswered' && outcome.reused)
      return [finding('keep_alive_short', `A probe after a pause of ${keepAliveMs} ms was lost (${outcome.code}).`)]
    return outcome.reused
      ? [judgeKeepAlive(knownMs ?? 0, keepAliveMs)]
      : [finding('keep_alive_short', `The connection was closed in a pause of ${keepAliveMs} ms.`)]
  } finally {
    sender.close()
  }
}

/** As in `Keep-Alive: timeout=5`. */
function timeoutIn(outcome: Asked['outcome']): number | undefined {
  const said = outcome.kind === 'answered' ? outcome.headers['keep-alive'] : undefined
  const [, seconds] = typeof said === 'string' ? (/timeout=(\d{1,6})/.exec(said) ?? []) : []
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
