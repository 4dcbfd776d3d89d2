/**
 * The doctor: sends signed probes through an app's real stack, as the service would, and says what is wrong.
 *
 * The protocol, and what each part is for:
 *
 * 1. A probe is a callback like any other, so that it takes the way of one: POST, JSON, the Auth Key in the body, the signature
 *    header. Its message id has a reserved name and holds a time, a nonce, and an HMAC over both under each half of the pair
 *    (mark.ts). Nothing else tells it apart, and no message of the service has such an id.
 * 2. The receiver looks for the mark after the proof has held, and never before. An unproved probe is therefore answered, timed
 *    and put in quarantine by the very code that does so for a forgery, and nobody can ask from outside whether there is a
 *    doctor. What the quarantine kept is no event later either, when the right pair proves it.
 * 3. A proved probe goes no further than this: it is no event, no handler gets it, nothing of it is stored or counted. Only an
 *    HMAC under a live pair makes a callback a probe. A callback that quotes a probe, or has an id in its form, is kept as any
 *    other. The half of the pair that proves a probe has also marked it, so no probe is taken for a callback.
 * 4. A mark is good once (a nonce is remembered), and for a day. The signature's own time has its 300 seconds on top. A recorded
 *    probe is thus answered as a forgery is. Another process of the same app does not know the nonce; all that a replay gets
 *    there is what the eavesdropper has seen already: a sealed answer.
 * 5. The answer is the usual 204. One header has the receiver's report (facts.ts): the digest of the bytes that came, what came
 *    of the header, the clock, the settings, the store. It is encrypted with AES-256-GCM under a key made of the pair and the
 *    message id, and padded to one length (seal.ts). A keyed digest would show as well who answered, but not what was seen; in
 *    plain text it would tell everybody on the way. Whoever can open it holds the pair, and could send callbacks anyway.
 *    Another handler's 204 has no such header, so it cannot be taken for ours.
 * 6. The report is sealed under the signing secret where the pair has one: the Auth Key stands in every callback. A receiver that
 *    has another signing secret and the right Auth Key answers under the Auth Key, and says only that.
 * 7. Where nothing is proved, the receiver does not know that it was probed, and its 401 says nothing. Then the doctor sends
 *    probes that would hold if one certain thing had happened: signed over what a proxy is known to make of a body, with a type
 *    that parsers leave alone, for another time, with the old pair (unproved.ts). The one that holds names the reason. In the
 *    receiver's own process, the receiver remembers why it refused the probes that it sent itself (answering.ts).
 *
 * It sends to the one URL alone, and follows no redirect. What it says has no secret and no body in it.
 */
import type { CallbackKind } from '../events.ts'
import type { Clock } from '../clock.ts'
import type { AppFacts } from './facts.ts'
import type { ProbeWatch } from './answering.ts'
import { createExchange, type Asked, type Exchange } from './asking.ts'
import { finding, isWell, type Diagnosis, type Finding } from './findings.ts'
import {
  judgeApp,
  judgeArrival,
  judgeClock,
  judgeKind,
  judgeOnlyAuthKey,
  judgePair,
  judgeProject,
  type Heard,
} from './judging.ts'
import { measureBodyLimit, measureIdle, measureTime } from './measuring.ts'
import type { ProbePair } from './probe.ts'
import { shownUrl } from './reading-answers.ts'
import { createSender } from './sending.ts'
import { explainUnproved, type Explained } from './unproved.ts'

interface Examination {
  readonly url: URL
  readonly kind: CallbackKind | undefined
  readonly project: string | undefined
  readonly pair: ProbePair
  /** What the app may still have in its place. */
  readonly oldPairs: readonly ProbePair[]
  /** For an answer. */
  readonly timeoutMs: number
  /** How long the proxy in front keeps idle connections; a pause of so long is made on one. */
  readonly keepAliveMs: number | undefined
  readonly clock: Clock
  /** The receiver of this process, where there is one. */
  readonly own: { readonly watch: ProbeWatch; readonly about: () => Promise<AppFacts> } | undefined
}

/** Rejects for nothing that an app or a network can do. */
export async function examine(examination: Examination): Promise<Diagnosis> {
  const { url, kind, own } = examination
  const sender = await createSender(url, examination)
  const expect = (messageId: string): void => own?.watch.expect(messageId)
  const exchange = createExchange({ ...examination, sender, expect })
  try {
    const findings = [...(await findAll(examination, exchange)), ...judgeUrl(url)]
    return { ok: isWell(findings), url: shownUrl(url), kind, findings }
  } finally {
    sender.close()
    own?.watch.end()
  }
}

async function findAll(examination: Examination, exchange: Exchange): Promise<readonly Finding[]> {
  const { kind, own } = examination
  const first = await exchange.ask()
  const { findings, heard } =
    first.heard === undefined ? await explain(examination, exchange, first) : hear(first.heard)
  if (heard === undefined) {
    // Nobody has answered for the app: what this process knows of itself is true all the same.
    const app = await own?.about()
    return app === undefined ? findings : [...findings, ...judgeApp(app)]
  }
  const { form, report } = heard
  return [
    finding('receiver_answers'),
    ...judgeKind(kind, report.facts),
    ...judgeProject(report.facts),
    ...findings,
    ...(await measureTime(exchange, form)),
    ...(await measureBodyLimit(exchange, form, report.facts.maxBodyBytes)),
    ...(await measureIdle(examination, form, report.facts.app.keepAliveMs)),
    ...judgeApp(report.facts.app),
  ]
}

/** The first probe was answered. */
function hear(report: Heard): Explained {
  const way = judgeArrival(report.probe, report.facts.arrival)
  const isIntact = way.every(({ level }) => level === 'ok')
  return { findings: [...judgePair(report, isIntact), ...way, ...judgeClock(report)], heard: { form: {}, report } }
}

/** It was not, or by somebody else. */
async function explain(examination: Examination, exchange: Exchange, first: Asked): Promise<Explained> {
  const { reply } = first
  if (reply.kind === 'other') return { findings: [reply.finding] }
  if (reply.kind === 'onlyAuthKey') return { findings: [judgeOnlyAuthKey()] }
  const name = reply.kind === 'refusal' ? reply.name : 'not_authentic'
  switch (name) {
    case 'not_authentic': {
      const { pair, oldPairs, own } = examination
      const refused = own?.watch.refused(first.probe.messageId)
      return explainUnproved(exchange, { first, pair, oldPairs, refused, isOwn: own !== undefined })
    }
    case 'content_encoding':
      return { findings: [finding('body_compressed')] }
    case 'method_not_allowed':
      return { findings: [finding('method_refused', 'What was sent as a POST arrived as something else.')] }
    case 'body_too_large':
      return { findings: [finding('body_limit', `A probe of ${first.probe.body.length} bytes is too large already.`)] }
    case 'body_too_slow':
    case 'body_incomplete':
      return { findings: [finding('body_lost', `(${name})`)] }
    case 'taken':
    case 'unavailable':
      return { findings: [finding('unavailable')] }
  }
}

function judgeUrl({ protocol, hostname }: URL): readonly Finding[] {
  const isOfThisMachine = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'http:' && !isOfThisMachine ? [finding('https_missing')] : []
}
