/**
 * Finds out why a probe was answered 401, from outside: the answer is the same for every reason, so probes are sent that would
 * hold for one reason each, until one does. Where the receiver is in this process, it knows the reason itself.
 */
import type { RefusedProbe } from './answering.ts'
import type { Asked, Exchange } from './asking.ts'
import { BODY_CHANGES } from './changes.ts'
import { finding, type Finding } from './findings.ts'
import { describeOffset, judgeArrival, judgeClock, judgeOnlyAuthKey, type Heard } from './judging.ts'
import type { ProbeForm, ProbePair } from './probe.ts'

export interface Explained {
  readonly findings: readonly Finding[]
  /** A probe that was answered, and in which form: those that follow take it, too. */
  readonly heard?: { readonly form: ProbeForm; readonly report: Heard }
}

interface Unproved {
  readonly first: Asked
  readonly pair: ProbePair
  readonly oldPairs: readonly ProbePair[]
  /** What this process knows; undefined where the receiver is another one's, or somebody else has answered. */
  readonly refused: RefusedProbe | undefined
  readonly isOwn: boolean
}

type Attempt = readonly [form: ProbeForm, explain: (heard: Heard) => readonly Finding[]]

/** Clocks are wrong by minutes, or by a time zone: these offsets find both, each for five minutes before and after. */
const MINUTES_OFF = [9, 18, 27, 36, 45]
const HOURS_OFF = Array.from({ length: 14 }, (_, hour) => hour + 1)
const OFFSETS_SECONDS = [...MINUTES_OFF.map((minutes) => minutes * 60), ...HOURS_OFF.map((hours) => hours * 3_600)]

export async function explainUnproved({ ask }: Exchange, unproved: Unproved): Promise<Explained> {
  const { first, pair, oldPairs, refused, isOwn } = unproved
  const known = refused === undefined ? [] : explainRefused(first, refused)
  if (known.length > 0) return { findings: known }
  for (const [form, explain] of attempts(first, pair, oldPairs)) {
    const { reply, heard } = await ask(form)
    if (heard !== undefined) return { findings: explain(heard), heard: { form, report: heard } }
    if (reply.kind === 'onlyAuthKey') return { findings: [judgeOnlyAuthKey()] }
    if (reply.kind !== 'other') continue
    // Whoever is asked too often may begin to answer otherwise.
    if (form.broken !== true || reply.status === undefined) return { findings: [reply.finding] }
    const what = `JSON that breaks off was answered ${reply.status} before it reached the receiver.`
    return { findings: [finding('parsed_before', what)] }
  }
  const other =
    isOwn && refused === undefined
      ? 'Another process than this one answered, or nothing of the body could be read.'
      : undefined
  return { findings: [finding('pair_wrong', refused === undefined ? other : `Its own reason: ${refused.code}.`)] }
}

/** By the receiver's own reason, as far as that names one thing. */
function explainRefused({ probe }: Asked, { arrival, offsetSeconds }: RefusedProbe): readonly Finding[] {
  const changed = judgeArrival(probe, arrival).filter(({ level }) => level !== 'ok')
  if (changed.length > 0) return changed
  return offsetSeconds === undefined ? [] : [finding('clock_off', `${describeOffset(offsetSeconds)}.`)]
}

function* attempts({ reply, sentAtMs }: Asked, pair: ProbePair, oldPairs: readonly ProbePair[]): Generator<Attempt> {
  const { authKey, secretKey } = pair
  if (secretKey !== undefined) {
    // A time that is off spoils the Auth Key's proof, too; without a header there is none.
    if (authKey !== undefined) yield [{ unsigned: true }, judgeClock]
    for (const { what, apply } of BODY_CHANGES)
      yield [{ signedOver: apply }, () => [finding('bytes_changed', `By what proves it, ${what}.`)]]
    yield [
      { contentType: 'application/octet-stream' },
      () => [finding('parsed_before', 'The same bytes hold where their type is not JSON.')],
    ]
    const dateMs = reply.kind === 'refusal' ? reply.dateMs : undefined
    const byDate =
      dateMs === undefined ? [] : [Math.round((dateMs - sentAtMs) / 1_000)].filter((off) => Math.abs(off) > 60)
    for (const offsetSeconds of [...byDate, ...OFFSETS_SECONDS.flatMap((seconds) => [seconds, -seconds])])
      yield [{ offsetSeconds }, judgeClock]
  }
  for (const old of oldPairs) yield [{ pair: old }, () => [finding('pair_old')]]
  yield [{ broken: true }, () => []]
}
