/** Posts callbacks as the service does, with the faults that the seed has in store for them. Contract, service.md#delivery-rules. */
import { setMaxListeners } from 'node:events'
import { systemClock } from '../../clock.ts'
import type { Proof } from '../../events.ts'
import type { Seed } from '../faults/draws.ts'
import { isJudgedByTheSecond, isToBeTaken } from '../faults/faults.ts'
import { createFaultPlan, type PlannedCallback, type PlannedRequest } from '../faults/plan.ts'
import type { FaultRates } from '../faults/rates.ts'
import { createHolds, type Place } from './holds.ts'
import { messageOf, type Delivery, type Outgoing, type Sender } from './outgoing.ts'
import { post, type Posted } from './post.ts'
import { buildRequest, type BuiltRequest } from './request.ts'
import { createSlots } from './slots.ts'
import { webUrl, withoutCredentials } from './web-url.ts'

export interface SenderOptions {
  /** How often each fault happens; `readFaultRates` checks what a user wrote. Default: no faults. */
  readonly faults?: FaultRates
  /** A run with the same seed meets the same faults: they are drawn by each callback's `key`. */
  readonly seed: Seed
  /** Milliseconds since the Unix epoch: what signatures are dated by. What waits, waits by the machine's own timers. */
  readonly nowMs: () => number
  /** For a whole request with its answer. */
  readonly timeoutMs: number
  /** Called with each request that was made or left out, in the order in which they end. */
  readonly onDelivery?: (delivery: Delivery) => void
  /** Authorities that are trusted for https, in PEM. Default: those that Node trusts. */
  readonly ca?: string | Buffer | undefined
}

/** More connections than this are not opened at once; the others wait for their turn. */
const MOST_CONNECTIONS = 128

/** Creates a sender. It opens nothing until the first callback. */
export function createSender(options: SenderOptions): Sender {
  const { seed, nowMs, timeoutMs, ca, onDelivery = () => {} } = options
  const clock = systemClock(nowMs)
  const plan = createFaultPlan({ rates: options.faults ?? {}, seed })
  const holds = createHolds(clock)
  const slots = createSlots(MOST_CONNECTIONS)
  const closing = new AbortController()
  // Each connection listens; older Nodes take more than ten listeners for a leak and say so.
  setMaxListeners(MOST_CONNECTIONS, closing.signal)
  const underWay = new Set<Promise<unknown>>()
  let made = 0

  async function deliver(
    outgoing: Outgoing,
    planned: PlannedCallback,
    request: PlannedRequest,
    place: Place,
  ): Promise<Delivery> {
    const { url, kind, project, payload } = outgoing
    const base = { kind, project, payload, url: withoutCredentials(url), faults: [...request.faults] }
    const unsent = { ...base, tookMs: 0, intact: false, sent: false }
    const target = webUrl(url)
    if (target === undefined) return { ...unsent, sentAtMs: nowMs(), error: 'the callback URL is no http or https URL' }
    if (request.faults.has('drop')) return { ...unsent, sentAtMs: nowMs() }
    await holds.wait(request, place)
    const leave = await slots.enter()
    try {
      const sentAtMs = nowMs()
      if (closing.signal.aborted) return { ...unsent, sentAtMs, error: 'the sender was closed' }
      const built = buildOrNothing(outgoing, planned, request, sentAtMs)
      if (built === undefined) return { ...unsent, sentAtMs, error: 'the payload cannot be written as JSON' }
      const posted = await post(target, built, request, { clock, timeoutMs, ca, signal: closing.signal })
      const endedAtMs = nowMs()
      return {
        ...base,
        sentAtMs,
        tookMs: Math.max(0, endedAtMs - sentAtMs),
        intact: isIntact(
          request,
          outgoing.proof,
          posted,
          Math.floor(endedAtMs / 1_000) !== Math.floor(sentAtMs / 1_000),
        ),
        sent: posted.connected,
        ...(posted.status === undefined ? undefined : { status: posted.status }),
        ...(posted.error === undefined ? undefined : { error: posted.error }),
      }
    } catch {
      // Node takes no such URL after all; its own words may quote the credentials.
      return { ...unsent, sentAtMs: nowMs(), error: 'the callback URL cannot be posted to' }
    } finally {
      leave()
    }
  }

  /** Undefined for a payload that is no JSON. */
  function buildOrNothing(
    outgoing: Outgoing,
    planned: PlannedCallback,
    request: PlannedRequest,
    atMs: number,
  ): BuiltRequest | undefined {
    try {
      return buildRequest(outgoing, planned, request, { nowMs: atMs, seed })
    } catch {
      return undefined
    }
  }

  async function deliverAll(outgoing: Outgoing): Promise<Delivery[]> {
    const planned = plan.of(outgoing.key, outgoing.proof)
    const place: Place = { message: messageOf(outgoing.payload), nth: made }
    made += 1
    return Promise.all(
      planned.requests.map(async (request) => {
        const delivery = await deliver(outgoing, planned, request, place)
        if (delivery.sent) holds.passed(place)
        try {
          onDelivery(delivery)
        } catch {
          // What a listener does wrong is not the callback's fault, and `send` never rejects.
        }
        return delivery
      }),
    )
  }

  return {
    send(outgoing) {
      const sending = deliverAll(outgoing)
      underWay.add(sending)
      return sending.finally(() => underWay.delete(sending))
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
    async close() {
      closing.abort()
      holds.release()
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}

/** Where the second turned while the request was under way, either answer is right; so the answer says which it was. */
function isIntact({ faults }: PlannedRequest, proof: Proof, { whole, status }: Posted, secondTurned: boolean): boolean {
  if (!whole) return false
  if (secondTurned && isJudgedByTheSecond(faults)) return status !== undefined && status >= 200 && status < 300
  return isToBeTaken(faults, proof)
}
