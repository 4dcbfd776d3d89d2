/** Builds the events of proved callbacks, and proves callbacks again. */
import type { ArrivedCallback, TraceContext } from '../public/callback.ts'
import { newEvent, type NewEventOptions } from '../inbox/new-event.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { ExactCallback } from '../quarantine/request.ts'
import { prove, type PairsFor, type Proved } from '../verify/authenticate.ts'
import { maskSecrets, readSentBody, type ReadBody } from '../verify/body.ts'
import type { NotProved } from '../verify/explain.ts'

export type ProvedEvents = ReturnType<typeof createProvedEvents>

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
