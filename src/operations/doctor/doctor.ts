/**
 * The doctor: sends signed probes through an app's real stack, as the service would, and reports problems on the way. In the
 * app's own process it also reports why a probe was refused and checks the app itself. It posts to one URL and follows no
 * redirect. Findings quote no secret and no body. protocol.ts describes the probes and their answers.
 */
import type { CallbackKind } from '../../public/events.ts'
import { shownUrl, type ReportReply, type Probe, type ProbePair } from './answers.ts'
import type { RefusedProbe } from './answering.ts'
import { createExchange, type Exchange, type Target } from './asking.ts'
import { finding, isWell, type DoctorReport, type DoctorFinding } from './findings.ts'
import { describeOffset, judgeArrival, judgeClock, judgeMount, judgePair, OTHER_SECRET } from './judging.ts'
import { measureBodyLimit, measureIdle, measureTime } from './measuring.ts'

interface Examination extends Omit<Target, 'expect'> {
  readonly kind: CallbackKind | undefined
  /** Older pairs that the app may still have. */
  readonly oldPairs: readonly ProbePair[]
  /** Idle timeout of the proxy in front. One connection stays idle for this long. */
  readonly keepAliveMs: number | undefined
  /** The receiver of this process, if there is one. */
  readonly own:
    | {
        readonly expect: NonNullable<Target['expect']>
        /** Checks of the app itself. */
        readonly app: () => Promise<readonly DoctorFinding[]>
        readonly keepAliveMs: () => number | undefined
      }
    | undefined
}

/** Returns findings for failures of the app or the network, and never rejects because of them. */
export async function examine(examination: Examination): Promise<DoctorReport> {
  const { url, kind, own, keepAliveMs } = examination
  const target: Target = { ...examination, expect: own?.expect }
  const exchange = await createExchange(target)
  try {
    const findings: DoctorFinding[] = []
    const explained = await explain(examination, exchange)
    if (explained.reply === undefined) findings.push(...explained.findings)
    else {
      const { facts, probe } = explained.reply
      findings.push(finding('receiver_answers'), ...judgeMount(kind, facts), ...explained.findings)
      findings.push(...(await measureTime(exchange, probe.pair)))
      findings.push(...(await measureBodyLimit(exchange, probe.pair, facts.maxBodyBytes)))
      findings.push(await measureIdle(target, probe.pair, { proxyIdleMs: keepAliveMs, knownMs: own?.keepAliveMs() }))
    }
    findings.push(...((await own?.app()) ?? []), ...judgeUrl(url))
    return { ok: isWell(findings), url: shownUrl(url), kind, findings }
  } finally {
    exchange.close()
  }
}

interface Explained {
  readonly findings: readonly DoctorFinding[]
  /** An answered probe. Later probes use its pair. */
  readonly reply?: ReportReply
}

async function explain({ oldPairs, own }: Examination, { ask }: Exchange): Promise<Explained> {
  const { reply } = await ask()
  switch (reply.kind) {
    case 'report': {
      const way = judgeArrival(reply.probe, reply.facts.arrival)
      const isIntact = way.every(({ level }) => level === 'ok')
      return { findings: [...judgePair(reply, isIntact), ...way, ...judgeClock(reply)], reply }
    }
    case 'onlyAuthKey':
      return { findings: [finding('pair_half', `${OTHER_SECRET} The app accepts callbacks by their Auth Key alone.`)] }
    case 'other':
      return { findings: [reply.finding] }
  }
  const { probe, refused } = reply
  const known = refused === undefined ? [] : explainRefused(probe, refused)
  if (known.length > 0) return { findings: known }
  for (const pair of oldPairs) {
    const { reply: replyToOld } = await ask({ pair })
    if (replyToOld.kind === 'report') return { findings: [finding('pair_old')], reply: replyToOld }
  }
  if (refused !== undefined) return { findings: [finding('pair_wrong', `The receiver’s reason: ${refused.code}.`)] }
  const elsewhere = 'Another process answered, or the body was unreadable.'
  return { findings: [finding('pair_wrong', own === undefined ? undefined : elsewhere)] }
}

/** Explains a refusal by the receiver of this process, if it has a single cause. */
function explainRefused(probe: Probe, { arrival, offsetSeconds }: RefusedProbe): readonly DoctorFinding[] {
  const changed = judgeArrival(probe, arrival).filter(({ level }) => level !== 'ok')
  if (changed.length > 0) return changed
  return offsetSeconds === undefined ? [] : [finding('clock_off', `${describeOffset(offsetSeconds)}.`)]
}

function judgeUrl({ protocol, hostname }: URL): readonly DoctorFinding[] {
  const isLoopback = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'http:' && !isLoopback ? [finding('https_missing')] : []
}
