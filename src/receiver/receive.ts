/** The pipeline for one callback: bytes and headers in, a response out. Independent of any framework. */
import { pairsFor, prove, type PairsFor, type Proved } from '../verify/authenticate.ts'
import { maskSecrets, readParsedBody, readSentBody, type ReadBody } from '../verify/body.ts'
import { createClockWatch, isNameRefused, namesIn, type NotProved } from '../verify/explain.ts'
import type { CredentialsSource } from '../verify/credentials.ts'
import type { QuarantineIntake } from '../quarantine/quarantine.ts'
import type { ExactCallback, Refused } from '../quarantine/request.ts'
import type { Probes } from '../operations/doctor/protocol.ts'
import { asRefusal, MessagingWebhooksError, RefusedError } from '../public/errors.ts'
import type { RefusalCode } from '../public/error-table.ts'
import type { ArrivedCallback, TraceContext } from '../public/callback.ts'
import type { CallbackKind } from '../public/events.ts'
import { REPLIES, type AnswerName, type CallbackAnswer } from '../http/replies.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { newEvent, type NewEventOptions } from '../inbox/new-event.ts'
import type { Admission } from '../messages/commands.ts'
import type { Awaitable } from '../inbox/store.ts'
import type { NewEvent } from '../messages/event-record.ts'

type ProvedEvents = ReturnType<typeof createProvedEvents>

/**
 * Builds the event of a proved callback, from a request or again from the quarantine. `byProject`: whether the proof decides the
 * project of an event.
 */
export function createProvedEvents(options: NewEventOptions & { readonly byProject: boolean }) {
  function eventOf(
    { kind, arrivedAtMs }: Pick<ArrivedCallback, 'kind' | 'arrivedAtMs'>,
    body: ReadBody,
    proof: Proved,
    trace?: TraceContext,
  ): NewEvent {
    const masked = maskSecrets(body, proof.secrets)
    return newEvent(
      {
        kind,
        body: masked.body,
        masked: masked.bytes,
        payload: masked.payload,
        proof: proof.proof,
        scope: options.byProject ? proof.project : undefined,
        // A project name that quotes a key is masked like any other field.
        project: proof.project === body.project ? masked.body.project : proof.project,
        signedAt: proof.signedAt,
        arrivedAtMs,
        trace,
      },
      options,
    )
  }

  return {
    eventOf,
    /** Verifies a callback from the quarantine again. Rejects if a credentials lookup fails. */
    async proveAgain(
      callback: ExactCallback,
      again: { readonly pairsFor: PairsFor; readonly clockOffsetSeconds: number },
    ): Promise<NotProved | { readonly proved: true; readonly event: NewEvent }> {
      const body = readSentBody(callback)
      const judged = { ...callback, arrivedAtMs: callback.arrivedAtMs - again.clockOffsetSeconds * 1_000 }
      const proof = prove(judged, body, await again.pairsFor(body.project), options.toleranceSeconds)
      return proof.proved ? { proved: true, event: eventOf(callback, body, proof) } : proof
    },
  }
}

/** The first attempt at an event, which the response waits for. */
interface WatchedAttempt {
  readonly over: Promise<void>
  /** Ends the watch of an event that was not admitted. */
  forget(): void
}

/** A request that may be refused. `body` is undefined if it was not read. */
interface Asked {
  readonly kind: CallbackKind | undefined
  readonly body?: ReadBody
}

interface ReceiveOptions extends Pick<ProvedEvents, 'eventOf'> {
  readonly credentials: CredentialsSource
  readonly toleranceSeconds: number
  readonly inbox: Pick<Inbox<object>, 'admit'>
  readonly quarantine: QuarantineIntake
  readonly report: (error: MessagingWebhooksError) => void
  /** Answers the doctor's probes, which are not callbacks. */
  readonly probes: Pick<Probes, 'answer' | 'refused'>
  /** Counts refused callbacks. */
  readonly refused: (kind: CallbackKind | undefined, code: RefusalCode) => void
  /** Counts admitted events. */
  readonly accepted: (event: NewEvent, admission: Admission) => void
  readonly watchAttempt: (id: string) => WatchedAttempt
  /** Whether the response waits for the first attempt. */
  readonly answersWhenHandled: boolean
  /** Makes `close()` wait for this response. */
  readonly underWay: <T>(answer: Promise<T>) => Promise<T>
}

export function createReceive(options: ReceiveOptions) {
  const { credentials, inbox, quarantine, report, toleranceSeconds, answersWhenHandled, underWay } = options
  const clockWatch = createClockWatch(report)
  /** How far this clock was ahead of the signature of the last new event, in seconds. A captured callback can be sent again. */
  let clockOffsetSeconds: number | undefined

  function refuse(
    { kind, body }: Asked,
    name: AnswerName,
    refused: Pick<NotProved, 'code' | 'detail'>,
    cause?: unknown,
  ): CallbackAnswer {
    const answer = REPLIES[name]
    options.refused(kind, refused.code)
    const unverified = body === undefined ? {} : namesIn(body, credentials.secrets())
    const request = { status: answer.status, kind, unverified }
    report(new RefusedError(refused.code, request, refused.detail, cause === undefined ? undefined : { cause }))
    return answer
  }

  /** Synchronous if no stage has to wait: creates no promise between stages, as with a store in memory. */
  function receive(callback: ArrivedCallback): Awaitable<CallbackAnswer> {
    const { kind, captured, contentEncoding } = callback
    let asked: Asked = { kind }
    try {
      if (captured.kind === 'failed') {
        const { reason, detail } = captured
        return refuse(asked, reason === 'body_already_read' ? 'not_authentic' : reason, { code: reason, detail })
      }
      const body =
        captured.kind === 'parsed' ? readParsedBody(captured.value) : readSentBody({ captured, contentEncoding })
      if (body === undefined)
        return refuse(asked, 'not_authentic', { code: 'body_already_parsed', detail: fixOf(captured) })
      asked = { kind, body }
      const proof = authenticate(callback, body)
      const answer =
        proof instanceof Promise
          ? proof.then((settled) => admitOrRefuse(callback, body, settled))
          : admitOrRefuse(callback, body, proof)
      return answer instanceof Promise ? underWay(answer.catch((error: unknown) => failed(asked, error))) : answer
    } catch (error) {
      return failed(asked, error)
    }
  }

  function authenticate(callback: ArrivedCallback, body: ReadBody): Awaitable<Proved | NotProved> {
    try {
      const pairs = pairsFor(credentials, body.project)
      if (!(pairs instanceof Promise)) return prove(callback, body, pairs, toleranceSeconds)
      return pairs
        .then((found) => prove(callback, body, found, toleranceSeconds))
        .catch((error: unknown) => keepUnchecked(callback, body, error))
    } catch (error) {
      return keepUnchecked(callback, body, error)
    }
  }

  /** The service does not send the callback again, so keep it when a credentials lookup fails. */
  function keepUnchecked(callback: ArrivedCallback, body: ReadBody, error: unknown): never {
    keepRefused(callback, body, { proved: false, code: asRefusal(error).code, unchecked: true })
    throw error
  }

  function admitOrRefuse(
    callback: ArrivedCallback,
    body: ReadBody,
    proof: Proved | NotProved,
  ): Awaitable<CallbackAnswer> {
    if (credentials.lookUp !== undefined && (proof.proved || !isNameRefused(proof)))
      quarantine.lookedUp(body.project, proof.proved)
    const asked = { kind: callback.kind, body }
    if (!proof.proved) {
      keepRefused(callback, body, proof)
      // Another clock than the service's signs a probe.
      if (proof.offsetSeconds !== undefined && body.probeId === undefined)
        clockWatch.doubt(proof.offsetSeconds, callback.arrivedAtMs)
      if (body.problem === 'content_encoding')
        return refuse(asked, 'content_encoding', { ...proof, code: 'content_encoding' })
      const refused = { ...proof, detail: proof.detail ?? fixOf(callback.captured) }
      const refusal = refuse(asked, 'not_authentic', refused)
      const told = body.probeId === undefined ? undefined : options.probes.answer(callback, body, proof)
      return told === undefined ? refusal : { ...refusal, headers: { ...refusal.headers, ...told } }
    }
    const headers = body.probeId === undefined ? undefined : options.probes.answer(callback, body, proof)
    if (headers !== undefined) return { ...REPLIES.accepted, headers }
    if (proof.signedAt !== undefined && clockWatch.isInDoubt) clockWatch.trust()
    if (callback.captured.kind === 'parsed')
      report(new MessagingWebhooksError('body_already_parsed', fixOf(callback.captured)))
    if (proof.ignored !== undefined) report(new MessagingWebhooksError('signature_ignored', proof.ignored))
    const event = options.eventOf(callback, body, proof, callback.trace)
    const { waitUntil } = callback
    const offsetSeconds = proof.signedAt === undefined ? undefined : callback.arrivedAtMs / 1_000 - proof.signedAt
    const attempt = answersWhenHandled || waitUntil !== undefined ? options.watchAttempt(event.id) : undefined
    try {
      const admission = inbox.admit(event)
      if (!(admission instanceof Promise)) return answerAdmitted(event, admission, offsetSeconds, attempt, waitUntil)
      return admission.then(
        (settled) => answerAdmitted(event, settled, offsetSeconds, attempt, waitUntil),
        (error: unknown) => forgetAttempt(attempt, error),
      )
    } catch (error) {
      return forgetAttempt(attempt, error)
    }
  }

  function forgetAttempt(attempt: WatchedAttempt | undefined, error: unknown): never {
    attempt?.forget()
    throw error
  }

  /** The service never sends the message id of a probe. */
  function keepRefused(callback: ArrivedCallback, body: ReadBody, refused: Refused): void {
    if (body.probeId === undefined) quarantine.keep(callback, body, refused)
    else options.probes.refused(callback, body, refused)
  }

  function answerAdmitted(
    event: NewEvent,
    admission: Admission,
    offsetSeconds: number | undefined,
    attempt: WatchedAttempt | undefined,
    waitUntil: ArrivedCallback['waitUntil'],
  ): Awaitable<CallbackAnswer> {
    const isDispatched = admission === 'new' || admission === 'late'
    if (!isDispatched) attempt?.forget()
    if (admission === 'full') throw new MessagingWebhooksError('store_full')
    options.accepted(event, admission)
    if (admission !== 'duplicate') clockOffsetSeconds = offsetSeconds ?? clockOffsetSeconds
    if (!isDispatched || attempt === undefined) return REPLIES.accepted
    passToPlatform(attempt.over, waitUntil)
    return answersWhenHandled ? attempt.over.then(() => REPLIES.accepted) : REPLIES.accepted
  }

  /** The event is accepted even if `waitUntil` fails. */
  function passToPlatform(over: Promise<void>, waitUntil: ArrivedCallback['waitUntil']): void {
    try {
      waitUntil?.(over)
    } catch (error) {
      report(new MessagingWebhooksError('internal', '`waitUntil` threw.', { cause: error }))
    }
  }

  function failed(asked: Asked, error: unknown): CallbackAnswer {
    const { code, cause, detail } = asRefusal(error)
    return refuse(asked, 'unavailable', { code, detail }, cause)
  }

  return {
    clockOffsetSeconds: () => clockOffsetSeconds,
    receive,
  }
}

/** How to give the receiver the bytes as they were sent, if it is known what reads or changes them before it. */
function fixOf(captured: ArrivedCallback['captured']): string | undefined {
  return captured.detail
}
