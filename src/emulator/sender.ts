/** Posts callbacks like the service, with faults drawn from the seed. Contract, service.md#delivery-rules. */
import { setMaxListeners } from 'node:events'
import { pause, systemClock } from '../runtime/clock.ts'
import { createLimiter } from '../runtime/concurrency.ts'
import { isToBeAccepted, planFaults, type PlannedRequest } from './faults.ts'
import { webUrl, withoutCredentials } from './http.ts'
import { post } from './post.ts'
import { messageOf, buildRequest, type Delivery, type Outgoing } from './request.ts'
import type { EmulatorSettings } from './options.ts'
import { wholeNumber } from './random.ts'

/** Maximum number of open connections. Others wait. */
const MAX_CONNECTIONS = 128
const SHORTEST_DELAY_MS = 10
const LONGEST_DELAY_MS = 1_500
const LONGEST_REORDER_MS = 1_000

/**
 * Posts callbacks without retries. Opens no connection before the first. Signatures have the time of the given clock; delays use
 * the machine's timers. `onDelivery` gets each request, posted or dropped, in order of completion, and must not throw.
 */
export function createSender(settings: EmulatorSettings, onDelivery: (delivery: Delivery) => void) {
  const { seed, faults: rates } = settings
  const nowMs = (): number => settings.clock.now()
  const clock = systemClock(nowMs)
  /** Requests that wait to be overtaken by a later callback of their message. `nth`: the number of callbacks before it. */
  const held = new Set<{ message: string | undefined; nth: number; overtaken: AbortController }>()
  const connected = createLimiter({ atOnce: MAX_CONNECTIONS, mostWaiting: Infinity, full: () => new Error('full') })
  const closing = new AbortController()
  const { signal } = closing
  // Each request adds listeners; above ten, Node warns of a leak.
  setMaxListeners(0, signal)
  const pending = new Set<Promise<unknown>>()
  let made = 0

  /** Returns the work, which must not reject. */
  function track<T>(work: Promise<T>): Promise<T> {
    pending.add(work)
    return work.finally(() => pending.delete(work))
  }

  /** Resolves when no work is left. Work may start further work. */
  async function idle(): Promise<void> {
    while (pending.size > 0) await Promise.all(pending)
  }

  /** Resolves when the request may be posted. */
  async function holdBack({ faults, draw }: PlannedRequest, message: string | undefined, nth: number): Promise<void> {
    if (faults.has('delay')) await pause(clock, wholeNumber(draw('delay'), SHORTEST_DELAY_MS, LONGEST_DELAY_MS), signal)
    if (!faults.has('reorder')) return
    const one = { message, nth, overtaken: new AbortController() }
    held.add(one)
    await pause(clock, LONGEST_REORDER_MS, AbortSignal.any([one.overtaken.signal, signal]))
    held.delete(one)
  }

  async function deliver(target: URL, outgoing: Outgoing, request: PlannedRequest, nth: number): Promise<Delivery> {
    const faults = [...request.faults]
    const leftOut = (error?: string): Delivery => unsent(outgoing, nowMs(), faults, error)
    if (request.faults.has('drop')) return leftOut()
    const message = messageOf(outgoing.payload)
    await holdBack(request, message, nth)
    return connected(async () => {
      const sentAtMs = nowMs()
      if (signal.aborted) return leftOut('the sender was closed')
      const built = buildRequest(outgoing, request, sentAtMs, seed)
      if (built === undefined) return leftOut('the payload cannot be written as JSON')
      const posted = await post(target, built, request, clock, signal, settings).catch(() => undefined)
      // Node rejects the URL. Its error may quote the credentials.
      if (posted === undefined) return leftOut('the callback URL cannot be posted to')
      const { connected: sent, whole, ...answer } = posted
      if (sent) for (const other of held) if (other.message === message && other.nth < nth) other.overtaken.abort()
      const tookMs = Math.max(0, nowMs() - sentAtMs)
      const intact = whole && isToBeAccepted(request.faults)
      return { ...unsent(outgoing, sentAtMs, faults), tookMs, intact, sent, ...answer }
    })
  }

  async function deliverAll(outgoing: Outgoing): Promise<readonly Delivery[]> {
    const target = webUrl(outgoing.url)
    const nth = made
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
      planFaults(rates, seed, outgoing).map(async (request) => {
        const delivery = await deliver(target, outgoing, request, nth)
        onDelivery(delivery)
        return delivery
      }),
    )
  }

  return {
    /** Resolves when every request of the callback has been answered, has failed, or was dropped. Never rejects. */
    send: (outgoing: Outgoing): Promise<readonly Delivery[]> => track(deliverAll(outgoing)),
    track,
    idle,
    /** Aborts pending requests, drops held ones, and closes connections. */
    close(): Promise<void> {
      closing.abort()
      return idle()
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
