/** Posts callbacks like the service, with faults drawn from the seed. Contract, service.md#delivery-rules. */
import { setMaxListeners } from 'node:events'
import type { EventProof } from '../public/events.ts'
import { systemClock } from '../runtime/clock.ts'
import {
  isJudgedByTheSecond,
  isToBeAccepted,
  planFaults,
  type FaultRates,
  type PlannedCallback,
  type PlannedRequest,
} from './faults.ts'
import { createHolds, type Place } from './holds.ts'
import { webUrl, withoutCredentials } from './http.ts'
import { messageOf, type Delivery, type Outgoing } from './outgoing.ts'
import { createPending } from './pending.ts'
import { post, type Posted } from './post.ts'
import type { Seed } from './random.ts'
import { buildRequest } from './request.ts'

export interface SenderOptions {
  /** Rate of each fault. */
  readonly faults: FaultRates
  /** The same seed repeats the same faults, drawn by each callback's `key`. */
  readonly seed: Seed
  /** Milliseconds since the Unix epoch, for signatures. Delays use the machine's timers. */
  readonly nowMs: () => number
  /** Time limit of a request with its answer. */
  readonly callbackTimeoutMs: number
  /** Called for each request, posted or dropped, in order of completion. Must not throw. */
  readonly onDelivery: (delivery: Delivery) => void
  /** Trusted certificate authorities for https, in PEM. Default: those of Node. */
  readonly ca?: string | Buffer | undefined
}

/** Maximum number of open connections. Others wait. */
const MOST_CONNECTIONS = 128

/** Posts callbacks without retries. Opens no connection before the first. Contract, service.md#delivery-rules. */
export function createSender({
  seed,
  faults: rates,
  nowMs,
  callbackTimeoutMs: timeoutMs,
  ca,
  onDelivery,
}: SenderOptions) {
  const clock = systemClock(nowMs)
  const holds = createHolds(clock)
  const enter = createSlots(MOST_CONNECTIONS)
  const closing = new AbortController()
  // Each connection adds a listener; above ten, Node warns of a leak.
  setMaxListeners(MOST_CONNECTIONS, closing.signal)
  const pending = createPending()
  let made = 0

  async function deliver(
    target: URL,
    outgoing: Outgoing,
    planned: PlannedCallback,
    request: PlannedRequest,
    place: Place,
  ): Promise<Delivery> {
    const faults = [...request.faults]
    const leftOut = (error?: string): Delivery => unsent(outgoing, nowMs(), faults, error)
    if (request.faults.has('drop')) return leftOut()
    await holds.wait(request, place)
    const leave = await enter()
    const sentAtMs = nowMs()
    try {
      if (closing.signal.aborted) return leftOut('the sender was closed')
      const built = buildRequest(outgoing, planned, request, { nowMs: sentAtMs, seed })
      if (built === undefined) return leftOut('the payload cannot be written as JSON')
      const posted = await post(target, built, request, { clock, timeoutMs, ca, signal: closing.signal })
      const endedAtMs = nowMs()
      const secondTurned = Math.floor(endedAtMs / 1_000) !== Math.floor(sentAtMs / 1_000)
      const { connected, whole: _, ...answer } = posted
      return {
        ...unsent(outgoing, sentAtMs, faults),
        tookMs: Math.max(0, endedAtMs - sentAtMs),
        intact: isIntact(request, outgoing.proof, posted, secondTurned),
        sent: connected,
        ...answer,
      }
    } catch {
      // Node rejects the URL. Its error may quote the credentials.
      return leftOut('the callback URL cannot be posted to')
    } finally {
      leave()
    }
  }

  async function deliverAll(outgoing: Outgoing): Promise<readonly Delivery[]> {
    const target = webUrl(outgoing.url)
    const planned = planFaults(rates, seed, outgoing.key, outgoing.proof)
    const place: Place = { message: messageOf(outgoing.payload), nth: made }
    made += 1
    const problem =
      target === undefined
        ? 'the callback URL is not an http or https URL'
        : outgoing.enforceHttps === true && target.protocol !== 'https:'
          ? 'enforceHttps is on and the callback URL is plain http'
          : undefined
    if (target === undefined || problem !== undefined) {
      const refused = unsent(outgoing, nowMs(), [], problem)
      onDelivery(refused)
      return [refused]
    }
    return Promise.all(
      planned.requests.map(async (request) => {
        const delivery = await deliver(target, outgoing, planned, request, place)
        if (delivery.sent) holds.passed(place)
        onDelivery(delivery)
        return delivery
      }),
    )
  }

  return {
    /** Resolves when every request of the callback has been answered, has failed, or was dropped. Never rejects. */
    send: (outgoing: Outgoing): Promise<readonly Delivery[]> => pending.track(deliverAll(outgoing)),
    /** Resolves when no request is pending or held back. */
    idle: pending.idle,
    /** Aborts pending requests, drops held ones, and closes connections. */
    close(): Promise<void> {
      closing.abort()
      holds.release()
      return pending.idle()
    },
  }
}

function unsent(
  { kind, project, payload, url }: Outgoing,
  sentAtMs: number,
  faults: readonly string[],
  error?: string,
): Delivery {
  const about = { kind, project, payload, url: withoutCredentials(url), sentAtMs, faults }
  return { ...about, tookMs: 0, intact: false, sent: false, ...(error !== undefined && { error }) }
}

/** If the second changed during the request, either answer is correct, so the answer decides. */
function isIntact(
  { faults }: PlannedRequest,
  proof: EventProof,
  { whole, status }: Posted,
  secondTurned: boolean,
): boolean {
  if (!whole) return false
  if (secondTurned && isJudgedByTheSecond(faults)) return status !== undefined && status >= 200 && status < 300
  return isToBeAccepted(faults, proof)
}

/** Limits concurrency; others wait in order. Resolves with a function that releases the slot. */
function createSlots(most: number): () => Promise<() => void> {
  const waiting: (() => void)[] = []
  let active = 0

  function leave(): void {
    const next = waiting.shift()
    if (next === undefined) active -= 1
    else next()
  }

  return async () => {
    if (active < most) active += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    return leave
  }
}
