/** The pipeline for one callback: bytes and headers in, a response out. Independent of any framework. */
import { pairsFor, prove, type Proved } from '../verify/authenticate.ts'
import { readParsedBody, readSentBody, type ReadBody } from '../verify/body.ts'
import { isNameRefused, type NotProved } from '../verify/explain.ts'
import type { CredentialsSource } from '../verify/credentials.ts'
import { asRefusal, MessagingWebhooksError } from '../public/errors.ts'
import type { ArrivedCallback } from '../public/callback.ts'
import { REPLIES, type CallbackAnswer } from '../http/replies.ts'
import type { Inbox } from '../inbox/inbox.ts'
import type { Admission } from '../messages/commands.ts'
import type { Awaitable } from '../inbox/store.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { ProvedEvents } from './proved-events.ts'
import { createRefusals, fixOf, type Asked, type RefusalsOptions } from './refusals.ts'

/** The first attempt at an event, which the response waits for. */
interface WatchedAttempt {
  readonly over: Promise<void>
  /** Ends the watch of an event that was not admitted. */
  forget(): void
}

interface ReceiveOptions extends RefusalsOptions, Pick<ProvedEvents, 'eventOf'> {
  readonly credentials: CredentialsSource
  readonly toleranceSeconds: number
  readonly inbox: Pick<Inbox<object>, 'admit'>
  /** Counts admitted events. */
  readonly accepted: (event: NewEvent, admission: Admission) => void
  /** Called for a callback that its authKey proves, without the signature that a live pair could verify. */
  readonly unsigned: () => void
  readonly watchAttempt: (id: string) => WatchedAttempt
  /** Whether the response waits for the first attempt. */
  readonly answersWhenHandled: boolean
  /** Makes `close()` wait for this response. */
  readonly underWay: <T>(answer: Promise<T>) => Promise<T>
}

export function createReceive(options: ReceiveOptions) {
  const { credentials, inbox, quarantine, report, toleranceSeconds, answersWhenHandled, underWay } = options
  const refusals = createRefusals(options)
  const { refuse, failed } = refusals
  /** How far this clock was ahead of the signature of the last new event, in seconds. A captured callback can be sent again. */
  let clockOffsetSeconds: number | undefined

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
    refusals.keep(callback, body, { proved: false, code: asRefusal(error).code, unchecked: true })
    throw error
  }

  function admitOrRefuse(
    callback: ArrivedCallback,
    body: ReadBody,
    proof: Proved | NotProved,
  ): Awaitable<CallbackAnswer> {
    if (credentials.lookUp !== undefined && (proof.proved || !isNameRefused(proof)))
      quarantine.lookedUp(body.project, proof.proved)
    if (!proof.proved) return refusals.refuseUnproved(callback, body, proof)
    const headers = body.probeId === undefined ? undefined : options.probes.answer(callback, body, proof)
    if (headers !== undefined) return { ...REPLIES.accepted, headers }
    if (proof.signedAt !== undefined) refusals.trustClock()
    if (callback.captured.kind === 'parsed')
      report(new MessagingWebhooksError('body_already_parsed', fixOf(callback.captured)))
    if (proof.flaw === 'absent') options.unsigned()
    else if (proof.flaw !== undefined) report(signatureIgnored(callback, body, proof, proof.flaw))
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

  function signatureIgnored(
    callback: ArrivedCallback,
    body: ReadBody,
    { pairs }: Proved,
    flaw: 'malformed' | 'mismatch',
  ): MessagingWebhooksError {
    const detail =
      flaw === 'malformed'
        ? 'The header is malformed.'
        : (options.findMistake(callback, body, pairs) ?? 'The digest matches none of the live secrets.')
    return new MessagingWebhooksError('signature_ignored', detail)
  }

  function forgetAttempt(attempt: WatchedAttempt | undefined, error: unknown): never {
    attempt?.forget()
    throw error
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

  return {
    clockOffsetSeconds: () => clockOffsetSeconds,
    receive,
  }
}
