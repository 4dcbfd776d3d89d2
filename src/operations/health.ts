/** Health of a receiver, with reasons, for load balancers, orchestrators and operators. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { withDeadline, type Clock } from '../runtime/clock.ts'
import { createReading } from '../runtime/concurrency.ts'
import type { Progress } from '../dispatch/claim-loop.ts'
import type { Keeping } from '../inbox/availability.ts'
import type { Awaitable } from '../inbox/store.ts'
import type { Middleware } from '../http/node.ts'

/** The parts of the health that a reason can make false. */
type Side = 'live' | 'ready' | 'working'

/** Every reason: the parts that it makes false, and its text. A reason without parts explains an undefined value, or needs attention. */
export const HEALTH_REASONS = {
  closed: [['live', 'ready', 'working'], 'The receiver is closed. It accepts no callbacks and dispatches no events.'],
  closing: [['ready'], 'The receiver is closing. It still accepts callbacks, but send new ones elsewhere.'],
  nowhere_to_keep: [
    ['ready', 'working'],
    'The store does not answer, and there is no spool: callbacks are answered 503 and lost.',
  ],
  spool_failing: [
    ['ready'],
    'The spool is full or its disk fails, and the store does not replace it: callbacks are lost.',
  ],
  start_failed: [
    ['ready', 'working'],
    'The receiver cannot start, for a reason that a retry cannot fix. The log has its code.',
  ],
  store_full: [['ready'], 'The store has reached its limit of unsettled events: callbacks are answered 503 and lost.'],
  store_away: [['working'], 'The store does not answer. Callbacks wait in the spool, if there is one.'],
  store_client_ended: [
    ['working'],
    'The Redis client of the store has ended, and only the application can connect it again.',
  ],
  store_emptied: [
    ['working'],
    'The data of the store was emptied while this process had it open: callbacks answered 204 are lost.',
  ],
  store_evicts: [[], 'The Redis server may evict stored events, or its policy cannot be read.'],
  store_unflushed: [[], 'The database server may lose stored events when it, or its machine, ends unexpectedly.'],
  event_damaged: [
    [],
    'A stored event or record cannot be read. It is among the dead letters; other events are not affected.',
  ],
  event_refused: [
    [],
    'The store refuses an event for its content. It waits in the spool, listed beside the dead letters.',
  ],
  claims_stuck: [['working'], 'The receiver has claimed no events for some time, although some may be due.'],
  backlog_old: [['working'], 'The oldest due event has waited for more than a minute.'],
  quarantine_waiting: [
    [],
    'Refused requests that look like callbacks wait in the quarantine. Compare the keys, then verify them again.',
  ],
  not_started: [[], 'The receiver does not dispatch yet: it awaits `start()`, the first request, or an open store.'],
  not_dispatching: [[], 'With `dispatch: false` another receiver runs the handlers, and its state is unknown here.'],
} as const satisfies Readonly<Record<string, readonly [affects: readonly Side[], text: string]>>

/** The code of a reason. Codes are stable. */
export type HealthCode = keyof typeof HEALTH_REASONS

/** A reason: a code for programs and a sentence for people. */
export interface HealthReason {
  readonly code: HealthCode
  readonly text: string
}

/** The health of a receiver, as `receiver.health()` returns it. */
export interface ReceiverHealth {
  /** False once the receiver is closed. Create a new receiver or restart the process. */
  readonly live: boolean
  /**
   * New callbacks are kept: in the store or, while it is unavailable, in a working spool. False from `close()` on, and after a
   * start that failed for good.
   */
  readonly ready: boolean
  /** Accepted events are dispatched in time. Undefined if this receiver cannot know. */
  readonly working: boolean | undefined
  /**
   * How long the oldest due event that no process has leased has waited, according to claims. Milliseconds. Undefined if
   * `working` cannot be known.
   */
  readonly oldestDueMs: number | undefined
  /** Why a value is false or undefined, and what needs attention. Empty if the receiver is healthy. */
  readonly reasons: readonly HealthReason[]
}

interface HealthOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  /** Whether handlers run in this process. */
  readonly dispatch: boolean
  readonly progress: () => Progress
  /** Where new callbacks would be kept. Settles within `storeTimeoutMs`. */
  readonly keeping: () => Promise<Keeping>
  readonly unsettled: () => Awaitable<number>
  /** Whether the claim loop or the spool has found the store unavailable. */
  readonly isUnavailable: () => boolean
  readonly state: () => 'open' | 'closing' | 'closed'
  /** Whether the last start failed for a reason that a retry cannot fix. */
  readonly hasStartFailed: () => boolean
  /** Number of refused requests in quarantine that look like callbacks. */
  readonly quarantined: () => number
  /** Number of events in the spool that the store refuses. */
  readonly refusedByStore: () => number
}

type HealthWatch = ReturnType<typeof createHealth>

/** Reasons that remain until the process ends, once their error was reported. */
const LASTING = ['store_emptied', 'store_evicts', 'store_unflushed', 'event_damaged'] as const

/** How long one answer of the store is reused. */
const FRESH_MS = 1_000
/** A due event is old after this time. */
const OLD_MS = 60_000
/** A claim is stuck this long after `storeTimeoutMs`. */
const STUCK_MS = 10_000

export function createHealth(options: HealthOptions) {
  const {
    clock,
    storeTimeoutMs,
    dispatch,
    progress,
    keeping,
    unsettled,
    isUnavailable,
    state,
    hasStartFailed,
    quarantined,
    refusedByStore,
  } = options
  const recentKeeping = createReading(clock, FRESH_MS, keeping, 0)
  /** Number of unsettled events when the store was full. The store counts as full until this number falls. */
  let fullAt: number | undefined
  const reported = new Set<string>()
  /** The turn of the claim loop that was last seen to be due, and since when. */
  let seen: { readonly turns: number; readonly sinceMs: number } | undefined

  async function isFull(): Promise<boolean> {
    if (fullAt === undefined) return false
    const left = await withDeadline<number>(clock, storeTimeoutMs, Promise.resolve(unsettled()), () => Infinity)
    if (left === 0 || left < fullAt) fullAt = undefined
    return fullAt !== undefined
  }

  /** The claim loop does not record since when a turn is due, so compare with earlier calls. */
  function isStuck({ turns, isTurnDue, hasStopped }: Progress): boolean {
    if (!isTurnDue || hasStopped) {
      seen = undefined
      return false
    }
    if (seen?.turns !== turns) seen = { turns, sinceMs: clock.now() }
    return clock.now() - seen.sinceMs > storeTimeoutMs + STUCK_MS
  }

  function ofKeeping(kept: Keeping): readonly HealthCode[] {
    if (kept === 'nowhere') return ['nowhere_to_keep']
    if (kept === 'spool_failing') return isUnavailable() ? ['spool_failing', 'store_away'] : ['spool_failing']
    return isUnavailable() || kept === 'spool' ? ['store_away'] : []
  }

  /** The cause of an outage, as long as it lasts. */
  function ofClient(outage: readonly HealthCode[]): readonly HealthCode[] {
    if (outage.length === 0) reported.delete('store_client_ended')
    return reported.has('store_client_ended') ? ['store_client_ended'] : []
  }

  function ofWork(now: Progress): readonly HealthCode[] {
    const found: HealthCode[] = LASTING.filter((code) => reported.has(code))
    if (refusedByStore() > 0) found.push('event_refused')
    if (!dispatch) return [...found, 'not_dispatching']
    if (!now.hasBegun) return [...found, 'not_started']
    if (isStuck(now)) found.push('claims_stuck')
    if (!now.hasStopped && now.oldestDueMs > OLD_MS) found.push('backlog_old')
    return found
  }

  async function codesNow(): Promise<readonly HealthCode[]> {
    if (state() === 'closed') return ['closed']
    // The store is about to close, so do not query it.
    if (state() === 'closing')
      return ['closing', ...(isUnavailable() ? (['store_away'] as const) : []), ...ofWork(progress())]
    // In parallel, so that both share one timeout.
    const [kept, full] = await Promise.all([recentKeeping.get(), isFull().catch(() => false)])
    // The receiver may have been closed meanwhile.
    if (state() !== 'open') return codesNow()
    // A store that answers has been repaired since; the next request starts the receiver.
    const failed: readonly HealthCode[] = hasStartFailed() && kept !== 'store' ? ['start_failed'] : []
    const others: HealthCode[] = full ? ['store_full'] : []
    if (quarantined() > 0) others.push('quarantine_waiting')
    const outage = ofKeeping(kept)
    return [...failed, ...outage, ...ofClient(outage), ...others, ...ofWork(progress())]
  }

  return {
    /** Does not query the store. */
    isLive: (): boolean => state() !== 'closed',
    /** Called when the store refused an event because it was full. */
    sawFull(): void {
      if (fullAt !== undefined) return
      Promise.resolve(unsettled()).then(
        (count) => (fullAt ??= count),
        () => {},
      )
    },
    /** Called with the code of each reported error. Some are reasons that remain until the process ends. */
    reported: (code: string): void => void reported.add(code),
    async health(): Promise<ReceiverHealth> {
      const codes = await codesNow()
      const affects = (side: Side): boolean => codes.some((code) => isAmong(HEALTH_REASONS[code][0], side))
      const isKnown = !codes.includes('not_started') && !codes.includes('not_dispatching') && !codes.includes('closed')
      return {
        live: !affects('live'),
        ready: !affects('ready'),
        working: affects('working') ? false : isKnown ? true : undefined,
        oldestDueMs: isKnown ? progress().oldestDueMs : undefined,
        reasons: codes.map((code) => ({ code, text: HEALTH_REASONS[code][1] })),
      }
    },
  }
}

function isAmong(sides: readonly Side[], side: Side): boolean {
  return sides.includes(side)
}

/**
 * Answers `/livez` and `/readyz` in Express, Connect and node:http. `/livez` does not query the store. `/readyz` awaits the
 * health; requests within a second share one call to the store. Other paths pass to `next`, or get a 404. `cache-control:
 * no-store` keeps intermediaries from caching.
 */
export function healthMiddleware({ health, isLive }: Pick<HealthWatch, 'health' | 'isLive'>): Middleware {
  return (request, response, next) => {
    const [path] = (request.url ?? '').split(/[?#]/, 1)
    if (path !== '/livez' && path !== '/readyz') {
      if (next === undefined) write(request, response, 404, { error: 'Not found. The paths are /livez and /readyz.' })
      else next()
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      write(request, response, 405, { error: 'Only GET and HEAD are allowed.' })
    } else if (path === '/livez') {
      const live = isLive()
      write(request, response, live ? 200 : 503, { live })
    } else void answerReady(request, response, health)
  }
}

async function answerReady(
  request: IncomingMessage,
  response: ServerResponse,
  health: () => Promise<ReceiverHealth>,
): Promise<void> {
  const { ready, working, reasons } = await health()
  // The client may have disconnected.
  if (response.destroyed || response.headersSent) return
  const codes = reasons.map(({ code }) => code)
  write(request, response, ready ? 200 : 503, { ready, working: working ?? null, reasons: codes })
}

function write(request: IncomingMessage, response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value)
  response.statusCode = status
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.setHeader('content-length', Buffer.byteLength(body))
  response.setHeader('cache-control', 'no-store')
  response.end(request.method === 'HEAD' ? undefined : body)
}
