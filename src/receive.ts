/** The stages in sequence for one callback: bytes and headers in, an answer out. Knows no framework. */
import { namedProject, prove, type Proved } from './authenticity/authenticate.ts'
import { maskSecrets, readParsedBody, readSentBody, type ReadBody } from './authenticity/body.ts'
import { createClockWatch } from './authenticity/clock-watch.ts'
import type { CredentialsSource } from './authenticity/credentials.ts'
import type { LivePair } from './authenticity/pair.ts'
import type { NotProved } from './authenticity/explain.ts'
import type { QuarantineIntake } from './quarantine/quarantine.ts'
import type { ExactCallback } from './quarantine/request.ts'
import { readSignatureHeader } from './authenticity/signature.ts'
import { asRefusal, MessagingWebhooksError, RefusedError } from './errors.ts'
import type { ArrivedCallback, Captured } from './callback.ts'
import { REPLIES, type Answer, type AnswerName } from './http/replies.ts'
import type { Inbox } from './inbox/inbox.ts'
import { newEvent, type NewEventOptions } from './inbox/new-event.ts'
import type { Admission, Awaitable, NewEvent } from './inbox/store.ts'

type PairsFor = CredentialsSource['pairsFor']

interface Receive {
  /** Answers at once where nothing has to be waited for. */
  receive(callback: ArrivedCallback): Awaitable<Answer>
  /** The same stages as far as the event, for a callback that quarantine kept. Rejects where a look-up fails. */
  proveAgain(
    callback: ExactCallback,
    again: { readonly pairsFor: PairsFor; readonly clockOffsetSeconds: number },
  ): Promise<NotProved | { readonly proved: true; readonly event: NewEvent }>
}

interface ReceiveOptions extends NewEventOptions {
  readonly credentials: CredentialsSource
  readonly toleranceSeconds: number
  readonly inbox: Pick<Inbox<object>, 'admit'>
  readonly quarantine: QuarantineIntake
  /** Something went wrong that the user must hear of. */
  readonly report: (error: MessagingWebhooksError) => void
  /** An event was admitted; what this returns is waited for before the answer. */
  readonly admitted: (event: NewEvent, admission: Admission) => Promise<void> | undefined
}

export function createReceive(options: ReceiveOptions): Receive {
  const { credentials, inbox, quarantine, report, toleranceSeconds } = options
  const clockWatch = createClockWatch(report)

  function refuse(name: AnswerName, refused: Pick<NotProved, 'code' | 'detail'>, cause?: unknown): Answer {
    const answer = REPLIES[name]
    report(new RefusedError(refused.code, answer.status, refused.detail, cause === undefined ? undefined : { cause }))
    return answer
  }

  function authenticate(callback: ArrivedCallback, body: ReadBody, pairsFor: PairsFor): Awaitable<Proved | NotProved> {
    const project = namedProject(body)
    const unfit = project === undefined ? undefined : credentials.refusedName(project)
    if (unfit !== undefined) return { proved: false, code: unfit }
    const proveBy = (pairs: readonly LivePair[]): Proved | NotProved => {
      const inexact = callback.captured.kind === 'parsed' ? 'body_already_parsed' : undefined
      const header = readSignatureHeader(callback.signatures)
      const { policy, arrivedAtMs: nowMs } = callback
      return prove({ header, body, inexact, policy, toleranceSeconds, nowMs }, pairs, project)
    }
    return andThen(pairsFor(project), proveBy)
  }

  /** For one that arrives: whatever holds its proof up, it is not lost, for nobody sends it again. */
  function keepUnchecked(callback: ArrivedCallback, body: ReadBody, error: unknown): never {
    quarantine.keep(callback, body, { proved: false, code: asRefusal(error).code, unchecked: true })
    throw error
  }

  function authenticateOrKeep(callback: ArrivedCallback, body: ReadBody): Awaitable<Proved | NotProved> {
    try {
      const proof = authenticate(callback, body, credentials.pairsFor)
      return proof instanceof Promise ? proof.catch((error: unknown) => keepUnchecked(callback, body, error)) : proof
    } catch (error) {
      return keepUnchecked(callback, body, error)
    }
  }

  function eventOf({ kind, arrivedAtMs }: ArrivedCallback, body: ReadBody, proof: Proved): NewEvent {
    const masked = maskSecrets(body, proof.secrets)
    return newEvent(
      {
        kind,
        body: masked.body,
        masked: masked.bytes,
        payload: masked.payload,
        proof: proof.proof,
        scope: credentials.byProject ? proof.project : undefined,
        project: proof.project,
        signedAt: proof.signedAt,
        arrivedAtMs,
      },
      options,
    )
  }

  /** The stages without a promise between them, for with a store in memory none has to wait for another. */
  function receive(callback: ArrivedCallback): Awaitable<Answer> {
    const { captured } = callback
    if (captured.kind === 'failed') {
      const { reason, detail } = captured
      return refuse(reason === 'body_already_read' ? 'not_authentic' : reason, { code: reason, detail })
    }
    const body = bodyOf(captured, callback.contentEncoding)
    if (body === undefined) return refuse('not_authentic', { code: 'body_already_parsed' })
    return andThen(authenticateOrKeep(callback, body), (proof) => receiveProof(callback, body, proof))
  }

  function receiveProof(callback: ArrivedCallback, body: ReadBody, proof: Proved | NotProved): Awaitable<Answer> {
    if (proof.proved) quarantine.proved(namedProject(body))
    if (proof.proved || !isNameRefused(proof)) quarantine.lookedUp()
    if (!proof.proved) quarantine.keep(callback, body, proof)
    clockWatch.see(proof, callback.arrivedAtMs)
    if (!proof.proved) {
      if (body.problem === 'content_encoding') return refuse('content_encoding', { ...proof, code: 'content_encoding' })
      return refuse('not_authentic', proof)
    }
    if (callback.captured.kind === 'parsed') report(new MessagingWebhooksError('body_already_parsed'))
    if (proof.ignored !== undefined) report(new MessagingWebhooksError('signature_ignored', proof.ignored))
    const event = eventOf(callback, body, proof)
    return andThen(inbox.admit(event), (admission) => {
      if (admission === 'full') return refuse('unavailable', { code: 'store_full' })
      const handled = options.admitted(event, admission)
      return handled === undefined ? REPLIES.taken : handled.then(() => REPLIES.taken)
    })
  }

  function failed(error: unknown): Answer {
    const { code, cause, detail } = asRefusal(error)
    return refuse('unavailable', { code, detail }, cause)
  }

  return {
    receive(callback) {
      try {
        const answer = receive(callback)
        return answer instanceof Promise ? answer.catch(failed) : answer
      } catch (error) {
        return failed(error)
      }
    },
    async proveAgain(callback, { pairsFor, clockOffsetSeconds }) {
      const body = readSentBody(callback)
      const judged = { ...callback, arrivedAtMs: callback.arrivedAtMs - clockOffsetSeconds * 1_000 }
      const proof = await authenticate(judged, body, pairsFor)
      return proof.proved ? { proved: true, event: eventOf(callback, body, proof) } : proof
    },
  }
}

/** Then nothing was looked up. */
function isNameRefused({ code }: NotProved): boolean {
  return code === 'project_name_too_long' || code === 'project_name_malformed'
}

/** Goes on at once with what is there already. */
function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

function bodyOf(
  captured: Exclude<Captured, { kind: 'failed' }>,
  contentEncoding: string | undefined,
): ReadBody | undefined {
  return captured.kind === 'parsed' ? readParsedBody(captured.value) : readSentBody({ captured, contentEncoding })
}
