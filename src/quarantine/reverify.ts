/** Verifies kept requests again and admits the proved ones, in small turns of the event loop. */
import { nextTurn, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { PairsFor } from '../verify/authenticate.ts'
import type { NotProved } from '../verify/explain.ts'
import type { ExactCallback, KeptRequest } from './request.ts'

/** The fields that determine the order of admission. */
export interface Ordered {
  readonly messageKey: string
  readonly order: string
}

export interface ReverifyStages<E extends Ordered> {
  readonly clock: Clock
  readonly pairsFor: PairsFor
  /** The event of a proved callback. Rejects if its credentials cannot be looked up. */
  readonly prove: (
    callback: ExactCallback,
    options: { readonly pairsFor: PairsFor; readonly clockOffsetSeconds: number },
  ) => Promise<NotProved | { readonly proved: true; readonly event: E }>
  /** Rejects if the event could not be accepted. */
  readonly admit: (event: E) => Promise<void>
}

export interface Run {
  /** In order of arrival; within a page in the order of credential look-ups. */
  readonly pages: AsyncIterable<readonly KeptRequest[]>
  readonly clockOffsetSeconds: number
  /** Proves without admitting. */
  readonly dryRun: boolean
  readonly signal: AbortSignal
  readonly admitted: (requests: readonly KeptRequest[]) => Promise<void>
  readonly refused: (request: KeptRequest, why: NotProved) => Promise<void>
  /** Called when the look-up of this project timed out. */
  readonly slow: (project: string | undefined) => void
}

interface Proven<E> {
  readonly request: KeptRequest
  readonly event: E
}

/** Bytes of bodies proved per turn of the event loop: a few milliseconds for any bodies. */
const BYTES_A_TURN = 64 * 1024
/** Overhead of a request in `BYTES_A_TURN`. */
const BYTES_A_REQUEST = 2 * 1024
const ADMITTED_A_TURN = 128
/** Proved requests wait this long, in time of arrival, for earlier events of their messages on the next page. */
const HELD_BACK_MS = 15 * 60_000
/** After this many timeouts, a run looks up no other name. */
const MAX_SLOW = 3

/**
 * Proves all requests of a page before admitting any, because the order of arrival is not the order of events. Admits the events
 * of a message in order, each after the previous one is stored. So no kept request makes another one late, and after a store
 * failure the rest can still follow.
 *
 * Rejects if the store cannot accept an event, or with the signal's reason. Events admitted before stay admitted.
 */
export async function reverifyAll<E extends Ordered>(stages: ReverifyStages<E>, run: Run) {
  const { clock, prove } = stages
  const { clockOffsetSeconds, dryRun, signal } = run
  const lookups = rememberLookups(stages.pairsFor, run.slow)
  const count = { examined: 0, admitted: 0 }
  let lookupError: unknown
  let left = BYTES_A_TURN
  let held: readonly Proven<E>[] = []

  async function proveOne(request: KeptRequest): Promise<Proven<E> | undefined> {
    signal.throwIfAborted()
    try {
      const result = await prove(request.callback, { pairsFor: lookups.pairsFor, clockOffsetSeconds })
      if (result.proved) return { request, event: result.event }
      await run.refused(request, result)
    } catch (error) {
      lookupError ??= error
    }
    return undefined
  }

  async function admitAll(proven: readonly Proven<E>[]): Promise<void> {
    for (const batch of inRounds(proven)) {
      signal.throwIfAborted()
      await admitBatch(batch, stages, run)
      await nextTurn(clock)
    }
  }

  for await (const page of run.pages) {
    const proven: Proven<E>[] = [...held]
    for (const request of page) {
      const one = await proveOne(request)
      count.examined += 1
      if (one !== undefined) {
        count.admitted += 1
        if (!dryRun) proven.push(one)
      }
      left -= request.callback.captured.bytes.length + BYTES_A_REQUEST
      if (left <= 0) {
        left = BYTES_A_TURN
        await nextTurn(clock)
      }
    }
    const untilMs = page.reduce((last, { callback }) => Math.max(last, callback.arrivedAtMs), 0) - HELD_BACK_MS
    const isHeld = ({ request }: Proven<E>): boolean => request.callback.arrivedAtMs > untilMs
    held = proven.filter(isHeld)
    await admitAll(proven.filter((one) => !isHeld(one)))
  }
  await admitAll(held)
  // `failedNames`: names whose credentials could not be looked up. `lookupError`: the first error of a look-up.
  return { ...count, failedNames: lookups.failedNames, lookupError }
}

async function admitBatch<E extends Ordered>(
  batch: readonly Proven<E>[],
  { admit }: ReverifyStages<E>,
  { admitted }: Run,
): Promise<void> {
  const results = await Promise.allSettled(batch.map(({ event }) => admit(event)))
  await admitted(batch.flatMap(({ request }, index) => (results[index]?.status === 'fulfilled' ? [request] : [])))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Batches with at most one event per message: the oldest of every message, then the second, and so on. */
function* inRounds<E extends Ordered>(proven: readonly Proven<E>[]): Generator<readonly Proven<E>[]> {
  let messages = [...Map.groupBy(proven, ({ event }) => event.messageKey).values()]
  for (const events of messages)
    events.sort((a, b) => Number(a.event.order > b.event.order) - Number(a.event.order < b.event.order))
  for (let round = 0; messages.length > 0; round += 1) {
    const events = messages.flatMap((of) => of[round] ?? [])
    for (let at = 0; at < events.length; at += ADMITTED_A_TURN) yield events.slice(at, at + ADMITTED_A_TURN)
    messages = messages.filter((of) => of.length > round + 1)
  }
}

/** One look-up per name and run: senders choose the names. */
function rememberLookups(pairsFor: PairsFor, tookTooLong: Run['slow']) {
  const known = new Map<string | undefined, ReturnType<PairsFor>>()
  const failedNames = new Set<string | undefined>()
  let slow = 0

  async function lookUp(project: string | undefined) {
    if (slow >= MAX_SLOW) throw new MessagingWebhooksError('credentials_slow')
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
