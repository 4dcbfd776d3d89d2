/** The stages in sequence for one callback: bytes and headers in, an answer out. Knows no framework. */
import { prove, type Proved } from './authenticity/authenticate.ts'
import { maskSecrets, readParsedBody, readSentBody, type ReadBody } from './authenticity/body.ts'
import { createClockWatch } from './authenticity/clock-watch.ts'
import type { CredentialsSource } from './authenticity/credentials.ts'
import type { NotProved } from './authenticity/explain.ts'
import type { QuarantineIntake } from './quarantine/quarantine.ts'
import type { ExactCallback } from './quarantine/request.ts'
import { asRefusal, MessagingWebhooksError, RefusedError } from './errors.ts'
import type { ArrivedCallback } from './callback.ts'
import { REPLIES, type Answer, type AnswerName } from './http/replies.ts'
import type { Inbox } from './inbox/inbox.ts'
import { newEvent, type NewEventOptions } from './inbox/new-event.ts'
import type { Admission, Awaitable, NewEvent } from './inbox/store.ts'

interface Receive {
  /** Answers at once where nothing has to be waited for. */
  receive(callback: ArrivedCallback): Awaitable<Answer>
  /** The same stages as far as the event, for a callback that quarantine kept. Rejects where a look-up fails. */
  proveAgain(
    callback: ExactCallback,
    again: { readonly pairsFor: CredentialsSource['pairsFor']; readonly clockOffsetSeconds: number },
  ): Promise<NotProved | { readonly proved: true; readonly event: NewEvent }>
}

/** The first attempt at an event, for whose end the answer waits. */
interface WatchedAttempt {
  readonly over: Promise<void>
  /** The event was not admitted: nobody waits. */
  forget(): void
}

interface ReceiveOptions extends NewEventOptions {
  readonly credentials: CredentialsSource
  readonly toleranceSeconds: number
  readonly inbox: Pick<Inbox<object>, 'admit'>
  readonly quarantine: QuarantineIntake
  /** Something went wrong that the user must hear of. */
  readonly report: (error: MessagingWebhooksError) => void
  /** Counts what was admitted. */
  readonly taken: (event: NewEvent, admission: Admission) => void
  /** Watches for the first attempt at an event; defined where the answer waits for it. */
  readonly watchAttempt: ((id: string) => WatchedAttempt) | undefined
}

export function createReceive(options: ReceiveOptions): Receive {
  const { credentials, inbox, quarantine, report, toleranceSeconds } = options
  const clockWatch = createClockWatch(report)

  function refuse(name: AnswerName, refused: Pick<NotProved, 'code' | 'detail'>, cause?: unknown): Answer {
    const answer = REPLIES[name]
    report(new RefusedError(refused.code, answer.status, refused.detail, cause === undefined ? undefined : { cause }))
    return answer
  }

  /** The stages without a promise between them, for with a store in memory none has to wait for another. */
  function answerTo(callback: ArrivedCallback): Awaitable<Answer> {
    const { captured, contentEncoding } = callback
    if (captured.kind === 'failed') {
      const { reason, detail } = captured
      return refuse(reason === 'body_already_read' ? 'not_authentic' : reason, { code: reason, detail })
    }
    const body =
      captured.kind === 'parsed' ? readParsedBody(captured.value) : readSentBody({ captured, contentEncoding })
    if (body === undefined) return refuse('not_authentic', { code: 'body_already_parsed' })
    const proof = authenticate(callback, body)
    return proof instanceof Promise
      ? proof.then((settled) => admitOrRefuse(callback, body, settled))
      : admitOrRefuse(callback, body, proof)
  }

  function authenticate(callback: ArrivedCallback, body: ReadBody): Awaitable<Proved | NotProved> {
    /** Whatever holds its proof up, it is not lost, for nobody sends it again. */
    function keepUnchecked(error: unknown): never {
      quarantine.keep(callback, body, { proved: false, code: asRefusal(error).code, unchecked: true })
      throw error
    }
    try {
      const pairs = credentials.pairsFor(body.project)
      if (!(pairs instanceof Promise)) return prove(callback, body, pairs, toleranceSeconds)
      return pairs.then((found) => prove(callback, body, found, toleranceSeconds)).catch(keepUnchecked)
    } catch (error) {
      return keepUnchecked(error)
    }
  }

  function admitOrRefuse(callback: ArrivedCallback, body: ReadBody, proof: Proved | NotProved): Awaitable<Answer> {
    if (credentials.areLookedUp && (proof.proved || !isNameRefused(proof)))
      quarantine.lookedUp(body.project, proof.proved)
    if (!proof.proved) {
      quarantine.keep(callback, body, proof)
      if (proof.offsetSeconds !== undefined) clockWatch.doubt(proof.offsetSeconds, callback.arrivedAtMs)
      if (body.problem === 'content_encoding') return refuse('content_encoding', { ...proof, code: 'content_encoding' })
      return refuse('not_authentic', proof)
    }
    if (clockWatch.isInDoubt && proof.signedAt !== undefined) clockWatch.trust()
    if (callback.captured.kind === 'parsed') report(new MessagingWebhooksError('body_already_parsed'))
    if (proof.ignored !== undefined) report(new MessagingWebhooksError('signature_ignored', proof.ignored))
    const event = eventOf(callback, body, proof)
    const attempt = options.watchAttempt?.(event.id)
    function failed(error: unknown): never {
      attempt?.forget()
      throw error
    }
    try {
      const admission = inbox.admit(event)
      if (!(admission instanceof Promise)) return answerAdmitted(event, admission, attempt)
      return admission.then((settled) => answerAdmitted(event, settled, attempt), failed)
    } catch (error) {
      return failed(error)
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

  function answerAdmitted(event: NewEvent, admission: Admission, attempt?: WatchedAttempt): Awaitable<Answer> {
    if (admission === 'full' || admission === 'duplicate') attempt?.forget()
    if (admission === 'full') return refuse('unavailable', { code: 'store_full' })
    options.taken(event, admission)
    return admission === 'duplicate' || attempt === undefined ? REPLIES.taken : attempt.over.then(() => REPLIES.taken)
  }

  function failed(error: unknown): Answer {
    const { code, cause, detail } = asRefusal(error)
    return refuse('unavailable', { code, detail }, cause)
  }

  return {
    receive(callback) {
      try {
        const answer = answerTo(callback)
        return answer instanceof Promise ? answer.catch(failed) : answer
      } catch (error) {
        return failed(error)
      }
    },
    async proveAgain(callback, { pairsFor, clockOffsetSeconds }) {
      const body = readSentBody(callback)
      const judged = { ...callback, arrivedAtMs: callback.arrivedAtMs - clockOffsetSeconds * 1_000 }
      const proof = prove(judged, body, await pairsFor(body.project), toleranceSeconds)
      return proof.proved ? { proved: true, event: eventOf(callback, body, proof) } : proof
    },
  }
}

/** Then nothing was looked up. */
function isNameRefused({ code }: NotProved): boolean {
  return code === 'project_name_too_long' || code === 'project_name_malformed'
}
