/**
 * The doctor: sends signed probes through an app's real stack, as the service would, and reports problems on the way. In the
 * app's own process it also reports why a probe was refused and checks the app itself. It posts to one URL and follows no
 * redirect. Findings quote no secret and no body. protocol.ts describes the probes and their answers.
 */
import type { CallbackKind } from '../../public/events.ts'
import type { ProbeWatch, RefusedProbe } from './answering.ts'
import { createExchange, shownUrl, type Exchange, type Heard, type Target } from './asking.ts'
import { finding, isWell, type DoctorReport, type DoctorFinding } from './findings.ts'
import {
  describeOffset,
  judgeArrival,
  judgeClock,
  judgeKind,
  judgeOnlyAuthKey,
  judgePair,
  judgeProject,
} from './judging.ts'
import { measureBodyLimit, measureIdle, measureTime } from './measuring.ts'
import type { Probe, ProbePair } from './probe.ts'

interface Examination extends Target {
  readonly kind: CallbackKind | undefined
  /** Older pairs that the app may still have. */
  readonly oldPairs: readonly ProbePair[]
  /** Idle timeout of the proxy in front. One connection stays idle for this long. */
  readonly keepAliveMs: number | undefined
  /** The receiver of this process, if there is one. */
  readonly own:
    | {
        readonly watch: ProbeWatch
        /** Checks of the app itself. */
        readonly app: () => Promise<readonly DoctorFinding[]>
        readonly keepAliveMs: () => number | undefined
      }
    | undefined
}

/** Never rejects because of an app or a network. */
export async function examine(examination: Examination): Promise<DoctorReport> {
  const { url, kind, own } = examination
  const exchange = await createExchange(examination)
  try {
    const findings = [
      ...(await examineWay(examination, exchange)),
      ...(own === undefined ? [] : await own.app()),
      ...judgeUrl(url),
    ]
    return { ok: isWell(findings), url: shownUrl(url), kind, findings }
  } finally {
    exchange.close()
    own?.watch.end()
  }
}

async function examineWay(examination: Examination, exchange: Exchange): Promise<readonly DoctorFinding[]> {
  const { findings, heard } = await explain(examination, exchange)
  if (heard === undefined) return findings
  const { facts, probe } = heard
  return [
    finding('receiver_answers'),
    ...judgeKind(examination.kind, facts),
    ...judgeProject(facts),
    ...findings,
    ...(await measureTime(exchange, probe.form)),
    ...(await measureBodyLimit(exchange, probe.form, facts.maxBodyBytes)),
    ...(await measureIdle(examination, probe.form, examination.own?.keepAliveMs())),
  ]
}

interface Explained {
  readonly findings: readonly DoctorFinding[]
  /** An answered probe. Later probes use its form. */
  readonly heard?: Heard
}

async function explain({ oldPairs, own }: Examination, { ask }: Exchange): Promise<Explained> {
  const { probe, reply } = await ask()
  if (reply.kind === 'report') {
    const way = judgeArrival(probe, reply.facts.arrival)
    const isIntact = way.every(({ level }) => level === 'ok')
    return { findings: [...judgePair(reply, isIntact), ...way, ...judgeClock(reply)], heard: reply }
  }
  if (reply.kind === 'onlyAuthKey') return { findings: [judgeOnlyAuthKey()] }
  if (reply.kind === 'other') return { findings: [reply.finding] }
  const refused = own?.watch.refused(probe.messageId)
  const known = refused === undefined ? [] : explainRefused(probe, refused)
  if (known.length > 0) return { findings: known }
  for (const pair of oldPairs) {
    const { reply: replyToOld } = await ask({ pair })
    if (replyToOld.kind === 'report') return { findings: [finding('pair_old')], heard: replyToOld }
  }
  if (refused !== undefined) return { findings: [finding('pair_wrong', `The receiver’s reason: ${refused.code}.`)] }
  const elsewhere = 'Another process answered, or the body was unreadable.'
  return { findings: [finding('pair_wrong', own === undefined ? undefined : elsewhere)] }
}

/** The receiver's own reason, if it identifies one cause. */
function explainRefused(probe: Probe, { arrival, offsetSeconds }: RefusedProbe): readonly DoctorFinding[] {
  const changed = judgeArrival(probe, arrival).filter(({ level }) => level !== 'ok')
  if (changed.length > 0) return changed
  return offsetSeconds === undefined ? [] : [finding('clock_off', `${describeOffset(offsetSeconds)}.`)]
}

function judgeUrl({ protocol, hostname }: URL): readonly DoctorFinding[] {
  const isLoopback = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'http:' && !isLoopback ? [finding('https_missing')] : []
}
