/**
 * The doctor: sends signed probes through an app's real stack, as the service would, and says what is wrong. It posts to the one
 * URL and follows no redirect. Its findings quote no secret and no body. protocol.ts describes the probes and their answers.
 */
import type { CallbackKind } from '../../public/events.ts'
import type { ProbeWatch, RefusedProbe } from './answering.ts'
import { createExchange, shownUrl, type Asked, type Exchange, type Heard, type Target } from './asking.ts'
import { PROBE_CHANGES } from './changes.ts'
import { finding, isWell, type Diagnosis, type Finding } from './findings.ts'
import {
  describeOffset,
  judgeApp,
  judgeArrival,
  judgeClock,
  judgeKind,
  judgeOnlyAuthKey,
  judgePair,
  judgeProject,
} from './judging.ts'
import { measureBodyLimit, measureIdle, measureTime } from './measuring.ts'
import type { ProbeForm, ProbePair } from './probe.ts'
import type { AppFacts } from './protocol.ts'

interface Examination extends Target {
  readonly kind: CallbackKind | undefined
  /** Pairs that the app may have instead. */
  readonly oldPairs: readonly ProbePair[]
  /** How long the proxy in front keeps idle connections; one is left idle for this long. */
  readonly keepAliveMs: number | undefined
  /** The receiver of this process, if there is one. */
  readonly own: { readonly watch: ProbeWatch; readonly about: () => Promise<AppFacts> } | undefined
}

/** Nothing that an app or a network does makes it reject. */
export async function examine(examination: Examination): Promise<Diagnosis> {
  const { url, kind, own } = examination
  const exchange = await createExchange(examination)
  try {
    const findings = [...(await findAll(examination, exchange)), ...judgeUrl(url)]
    return { ok: isWell(findings), url: shownUrl(url), kind, findings }
  } finally {
    exchange.close()
    own?.watch.end()
  }
}

interface Explained {
  readonly findings: readonly Finding[]
  /** An answered probe: later probes take its form. */
  readonly heard?: Heard
}

async function findAll(examination: Examination, exchange: Exchange): Promise<readonly Finding[]> {
  const { kind, own } = examination
  const { findings, heard } = await explain(examination, exchange, await exchange.ask())
  if (heard === undefined) {
    // No receiver answered; what this process knows of its own app is still true.
    const app = await own?.about()
    return app === undefined ? findings : [...findings, ...judgeApp(app)]
  }
  const { facts, probe } = heard
  return [
    finding('receiver_answers'),
    ...judgeKind(kind, facts),
    ...judgeProject(facts),
    ...findings,
    ...(await measureTime(exchange, probe.form)),
    ...(await measureBodyLimit(exchange, probe.form, facts.maxBodyBytes)),
    ...(await measureIdle(examination, probe.form, facts.app.keepAliveMs)),
    ...judgeApp(facts.app),
  ]
}

async function explain(examination: Examination, exchange: Exchange, first: Asked): Promise<Explained> {
  const { reply } = first
  switch (reply.kind) {
    case 'report': {
      const way = judgeArrival(reply.probe, reply.facts.arrival)
      const isIntact = way.every(({ level }) => level === 'ok')
      return { findings: [...judgePair(reply, isIntact), ...way, ...judgeClock(reply)], heard: reply }
    }
    case 'onlyAuthKey':
      return { findings: [judgeOnlyAuthKey()] }
    case 'notAuthentic':
      return explainUnproved(examination, exchange, first)
    case 'refused':
    case 'other':
      return { findings: [reply.finding] }
  }
}

/**
 * Every 401 looks alike from outside, so each attempt is a probe that holds for one possible cause, until one does. If the
 * receiver is in this process, it knows the reason itself.
 */
async function explainUnproved(examination: Examination, { ask }: Exchange, first: Asked): Promise<Explained> {
  const { pair, oldPairs, own } = examination
  const refused = own?.watch.refused(first.probe.messageId)
  const known = refused === undefined ? [] : explainRefused(first, refused)
  if (known.length > 0) return { findings: known }
  for (const [form, judge] of attempts(first, pair, oldPairs)) {
    const { reply, outcome } = await ask(form)
    if (reply.kind === 'report') return { findings: judge(reply), heard: reply }
    if (reply.kind === 'onlyAuthKey') return { findings: [judgeOnlyAuthKey()] }
    if (reply.kind !== 'other') continue
    // A rate limit may answer the later probes.
    if (form.broken !== true || outcome.kind === 'unanswered') return { findings: [reply.finding] }
    const what = `JSON that breaks off was answered ${outcome.status} before it reached the receiver.`
    return { findings: [finding('parsed_before', what)] }
  }
  if (refused !== undefined) return { findings: [finding('pair_wrong', `Its own reason: ${refused.code}.`)] }
  const elsewhere = 'Another process than this one answered, or nothing of the body could be read.'
  return { findings: [finding('pair_wrong', own === undefined ? undefined : elsewhere)] }
}

/** The receiver's own reason, if it names one thing. */
function explainRefused({ probe }: Asked, { arrival, offsetSeconds }: RefusedProbe): readonly Finding[] {
  const changed = judgeArrival(probe, arrival).filter(({ level }) => level !== 'ok')
  if (changed.length > 0) return changed
  return offsetSeconds === undefined ? [] : [finding('clock_off', `${describeOffset(offsetSeconds)}.`)]
}

type Attempt = readonly [form: ProbeForm, judge: (heard: Heard) => readonly Finding[]]

/** Clocks are wrong by minutes, or by a time zone. Each offset covers the five minutes before and after it. */
const MINUTES_OFF = [9, 18, 27, 36, 45]
const HOURS_OFF = Array.from({ length: 14 }, (_, hour) => hour + 1)
const OFFSETS_SECONDS = [...MINUTES_OFF.map((minutes) => minutes * 60), ...HOURS_OFF.map((hours) => hours * 3_600)]

function* attempts({ outcome, probe }: Asked, pair: ProbePair, oldPairs: readonly ProbePair[]): Generator<Attempt> {
  const { authKey, secretKey } = pair
  if (secretKey !== undefined) {
    // A stale signature refuses the Auth Key, too; a missing one does not.
    if (authKey !== undefined) yield [{ unsigned: true }, judgeClock]
    for (const { words, apply } of PROBE_CHANGES)
      yield [{ signedOver: apply }, () => [finding('bytes_changed', `By what proves it, ${words}.`)]]
    yield [
      { contentType: 'application/octet-stream' },
      () => [finding('parsed_before', 'The same bytes hold where their type is not JSON.')],
    ]
    const date = outcome.kind === 'answered' ? outcome.headers.date : undefined
    const byDateSeconds = date === undefined ? NaN : Math.round((Date.parse(date) - probe.sentAtMs) / 1_000)
    if (Math.abs(byDateSeconds) > 60) yield [{ offsetSeconds: byDateSeconds }, judgeClock]
    for (const seconds of OFFSETS_SECONDS)
      for (const offsetSeconds of [seconds, -seconds]) yield [{ offsetSeconds }, judgeClock]
  }
  for (const old of oldPairs) yield [{ pair: old }, () => [finding('pair_old')]]
  yield [{ broken: true }, () => []]
}

function judgeUrl({ protocol, hostname }: URL): readonly Finding[] {
  const isLoopback = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'http:' && !isLoopback ? [finding('https_missing')] : []
}
