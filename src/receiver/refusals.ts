/** Refuses callbacks: counts, reports and answers them, and keeps those that may be authentic in the quarantine. */
import type { QuarantineIntake } from '../quarantine/quarantine.ts'
import type { Refusal } from '../quarantine/request.ts'
import type { Probes } from '../operations/doctor/protocol.ts'
import type { ArrivedCallback } from '../public/callback.ts'
import type { RefusalCode } from '../public/error-table.ts'
import { asRefusal, RefusedError, type MessagingWebhooksError } from '../public/errors.ts'
import type { CallbackKind } from '../public/events.ts'
import { REPLIES, type AnswerName, type CallbackAnswer } from '../http/replies.ts'
import type { ReadBody } from '../verify/body.ts'
import type { CredentialsSource } from '../verify/credentials.ts'
import { createClockWatch, namesIn, type NotProved } from '../verify/explain.ts'
import type { FindMistake } from '../verify/mistaken-secrets.ts'

/** A request that may be refused. `body` is undefined if it was not read. */
export interface Asked {
  readonly kind: CallbackKind | undefined
  readonly body?: ReadBody
}

export interface RefusalsOptions {
  readonly credentials: Pick<CredentialsSource, 'secrets'>
  readonly quarantine: QuarantineIntake
  readonly report: (error: MessagingWebhooksError) => void
  readonly findMistake: FindMistake
  /** Answers the doctor's probes, which are not callbacks. */
  readonly probes: Pick<Probes, 'answer' | 'refused'>
  /** Counts refused callbacks. */
  readonly refused: (kind: CallbackKind | undefined, code: RefusalCode) => void
}

export function createRefusals(options: RefusalsOptions) {
  const { credentials, quarantine, report } = options
  const clockWatch = createClockWatch(report)

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

  /** The service never sends the message id of a probe. */
  function keep(callback: ArrivedCallback, body: ReadBody, refused: Refusal): void {
    if (body.probeId === undefined) quarantine.keep(callback, body, refused)
    else options.probes.refused(callback, body, refused)
  }

  function refuseUnproved(callback: ArrivedCallback, body: ReadBody, proof: NotProved): CallbackAnswer {
    const asked = { kind: callback.kind, body }
    keep(callback, body, proof)
    // Another clock than the service's signs a probe.
    if (proof.offsetSeconds !== undefined && body.probeId === undefined)
      clockWatch.doubt(proof.offsetSeconds, callback.arrivedAtMs)
    if (body.problem === 'content_encoding')
      return refuse(asked, 'content_encoding', { ...proof, code: 'content_encoding' })
    const detail = proof.detail ?? fixOf(callback.captured) ?? mistakeOf(callback, body, proof)
    const refusal = refuse(asked, 'not_authentic', { ...proof, detail })
    const told = body.probeId === undefined ? undefined : options.probes.answer(callback, body, proof)
    return told === undefined ? refusal : { ...refusal, headers: { ...refusal.headers, ...told } }
  }

  function mistakeOf(callback: ArrivedCallback, body: ReadBody, { code, pairs }: NotProved): string | undefined {
    const isMismatch = code === 'signature_mismatch' || code === 'auth_key_mismatch'
    return isMismatch && pairs !== undefined ? options.findMistake(callback, body, pairs) : undefined
  }

  function failed(asked: Asked, error: unknown): CallbackAnswer {
    const { code, cause, detail } = asRefusal(error)
    return refuse(asked, 'unavailable', { code, detail }, cause)
  }

  return {
    refuse,
    keep,
    refuseUnproved,
    failed,
    /** A signature in time proves that this clock is right. */
    trustClock(): void {
      if (clockWatch.isInDoubt) clockWatch.trust()
    },
  }
}

/** How to give the receiver the bytes as they were sent, if it is known what reads or changes them before it. */
export function fixOf(captured: ArrivedCallback['captured']): string | undefined {
  return captured.detail
}
