/** Verifies kept requests again, and admits what is proved: in turns, so that nothing else waits for it. */
import type { Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { PairsFor } from '../verify/authenticate.ts'
import type { NotProved } from '../verify/explain.ts'
import type { ExactCallback, KeptRequest } from './request.ts'

/** What of an event decides when it is admitted. */
export interface Ordered {
  readonly messageKey: string
  readonly order: string
}

/** The stages beside this one, as far as verifying again needs them. */
export interface ReverifyStages<E extends Ordered> {
  readonly clock: Clock
  readonly pairsFor: PairsFor
  /** The event of a callback that is proved. Rejects where its credentials cannot be looked up. */
  readonly prove: (
    callback: ExactCallback,
    options: { readonly pairsFor: PairsFor; readonly clockOffsetSeconds: number },
  ) => Promise<NotProved | { readonly proved: true; readonly event: E }>
  /** Rejects where it could not be taken. */
  readonly admit: (event: E) => Promise<void>
}

interface Run {
  /** In the order in which their credentials are looked up; of one project in order of arrival. */
  readonly requests: readonly KeptRequest[]
  readonly clockOffsetSeconds: number
  /** Proves, and does nothing more. */
  readonly dryRun: boolean
  readonly signal: AbortSignal
  readonly admitted: (request: KeptRequest) => void
  readonly refused: (request: KeptRequest, why: NotProved) => void
  /** The look-up of this project took too long. */
  readonly slow: (project: string | undefined) => void
}

interface Proven<E> {
  readonly request: KeptRequest
  readonly event: E
}

/** Bytes of bodies proved in one turn of the event loop: a few milliseconds, whatever the bodies are. */
const BYTES_A_TURN = 64 * 1024
/** What a request costs beside its bytes, in the same measure. */
const BYTES_A_REQUEST = 2 * 1024
const ADMITTED_A_TURN = 128
/** After so many look-ups that timed out, no other name is looked up in this run. */
const MOST_SLOW = 3

/**
 * Proves all requests first and admits then, because the order of arrival is not the order of events: of each message the
 * oldest event goes first, and the next only when that is in. So nothing here makes anything else here late, and where
 * the store fails in between, what is left can still follow.
 * Rejects where the store cannot take an event, or with the signal's reason; what was admitted before stays admitted.
 */
export async function reverifyAll<E extends Ordered>(stages: ReverifyStages<E>, run: Run) {
  const { clock, prove } = stages
  const { requests, clockOffsetSeconds, dryRun, signal } = run
  const lookups = rememberLookups(stages.pairsFor, run.slow)
  const proven: Proven<E>[] = []
  let lookupError: unknown
  let left = BYTES_A_TURN
  for (const request of requests) {
    signal.throwIfAborted()
    const { callback } = request
    try {
      const result = await prove(callback, { pairsFor: lookups.pairsFor, clockOffsetSeconds })
      if (result.proved) proven.push({ request, event: result.event })
      else run.refused(request, result)
    } catch (error) {
      lookupError ??= error
    }
    left -= callback.captured.bytes.length + BYTES_A_REQUEST
    if (left <= 0) {
      left = BYTES_A_TURN
      await nextTurn(clock)
    }
  }
  for (const batch of dryRun ? [] : inRounds(proven)) {
    signal.throwIfAborted()
    await admitBatch(batch, stages, run)
    await nextTurn(clock)
  }
  // The names whose credentials could not be looked up in this run, and the first error of such a look-up.
  return { examined: requests.length, admitted: proven.length, failedNames: lookups.failedNames, lookupError }
}

async function admitBatch<E extends Ordered>(
  batch: readonly Proven<E>[],
  { admit }: ReverifyStages<E>,
  { admitted }: Run,
): Promise<void> {
  const results = await Promise.allSettled(
    batch.map(async ({ request, event }) => {
      await admit(event)
      admitted(request)
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Batches in which no message has two events: first the oldest of every message, then the second, and so on. */
function* inRounds<E extends Ordered>(proven: readonly Proven<E>[]): Generator<readonly Proven<E>[]> {
  let messages = [...Map.groupBy(proven, ({ event }) => event.messageKey).values()]
  for (const events of messages) events.sort((a, b) => compare(a.event.order, b.event.order))
  for (let round = 0; messages.length > 0; round += 1) {
    const events = messages.flatMap((of) => of[round] ?? [])
    for (let at = 0; at < events.length; at += ADMITTED_A_TURN) yield events.slice(at, at + ADMITTED_A_TURN)
    messages = messages.filter((of) => of.length > round + 1)
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** One look-up a name and run: strangers choose the names. */
function rememberLookups(pairsFor: PairsFor, tookTooLong: Run['slow']) {
  const known = new Map<string | undefined, ReturnType<PairsFor>>()
  const failedNames = new Set<string | undefined>()
  let slow = 0

  async function lookUp(project: string | undefined) {
    if (slow >= MOST_SLOW) throw new MessagingWebhooksError('credentials_slow')
    try {
      return await pairsFor(project)
    } catch (error) {
      failedNames.add(project)
      if (error instanceof MessagingWebhooksError && error.code === 'credentials_slow') {
        slow += 1
        tookTooLong(project)
      }
      throw error
    }
  }

  return {
    failedNames,
    pairsFor(project: string | undefined): ReturnType<PairsFor> {
      const pairs = known.get(project) ?? lookUp(project)
      known.set(project, pairs)
      return pairs
    },
  }
}

function nextTurn(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.soon(resolve))
}
