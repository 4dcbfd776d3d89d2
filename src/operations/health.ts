/** How a receiver is: what a load balancer, an orchestrator and a person on call want to know, with the reasons. */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import type { Progress } from '../dispatch/claim-loop.ts'
import type { Keeping } from '../inbox/keeping.ts'
import type { Awaitable } from '../inbox/store.ts'

/** What a reason can spoil. */
type Side = 'live' | 'ready' | 'working'

/** Every reason, in one table: what it spoils, and what it says. One that spoils nothing says why something is not known. */
export const HEALTH_REASONS = {
  closed: [['live', 'ready', 'working'], 'The receiver is closed, and takes and hands over nothing any more.'],
  closing: [['ready'], 'The receiver is closing: what still comes is taken, and nothing more should be sent here.'],
  nowhere_to_keep: [
    ['ready', 'working'],
    'The store does not answer, and there is no spool: callbacks are answered 503 and lost.',
  ],
  spool_failing: [
    ['ready'],
    'The spool takes nothing, for it is full or its disk fails, and the store does not stand in for it: callbacks are lost.',
  ],
  store_full: [['ready'], 'The store holds as many unsettled events as it may: callbacks are answered 503 and lost.'],
  store_away: [['working'], 'The store does not answer. Where there is a spool, callbacks wait in it.'],
  store_emptied: [
    ['working'],
    'The Redis server was emptied after this process had opened the store: callbacks that were answered 204 are lost.',
  ],
  store_replaced: [
    ['working'],
    'The database file was removed or replaced while it was open: callbacks go to the spool until the process is restarted.',
  ],
  claims_stuck: [['working'], 'Nothing has been claimed for a while although something may be due.'],
  backlog_old: [['working'], 'The longest due event has waited for more than a minute.'],
  not_started: [[], 'Nothing is handed over yet: neither `start()` nor a request has come, or the store is not open.'],
  not_dispatching: [
    [],
    'With `dispatch: false` another receiver runs the handlers, and this one does not know how it is.',
  ],
} as const satisfies Readonly<Record<string, readonly [spoils: readonly Side[], text: string]>>

/** Why something is not as it should be, or not known. Codes are stable. */
export type HealthCode = keyof typeof HEALTH_REASONS

/** A reason, in a word for programs and a sentence for people. */
export interface HealthReason {
  readonly code: HealthCode
  readonly text: string
}

/** How a receiver is. */
export interface Health {
  /** False once it is closed: only a new receiver, or process, helps. */
  readonly live: boolean
  /** What comes now would be kept: in the store or, while that is away, in a spool that works. False from `close()` on. */
  readonly ready: boolean
  /** What was kept is handed over, and in time; undefined where this receiver cannot know. */
  readonly working: boolean | undefined
  /** How long the longest due event waits that no handler has, as far as claims tell. Milliseconds; undefined as `working` is. */
  readonly oldestDueMs: number | undefined
  /** Why one of these is false or undefined; empty where all is well. */
  readonly reasons: readonly HealthReason[]
}

interface HealthOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  /** Handlers run here. */
  readonly dispatch: boolean
  readonly progress: () => Progress
  /** Whether what comes would be kept; settles in `storeTimeoutMs`. */
  readonly keeping: () => Promise<Keeping>
  readonly unsettled: () => Awaitable<number>
  /** The claim loop or the spool has found the store away. */
  readonly isAway: () => boolean
  readonly state: () => 'open' | 'closing' | 'closed'
}

export type HealthWatch = ReturnType<typeof createHealth>

/** So long an answer of the store serves all who ask. */
const FRESH_MS = 1_000
/** An event that is due for longer waits too long. */
const OLD_MS = 60_000
/** So long after `storeTimeoutMs` a claim must have been answered. */
const STUCK_MS = 10_000

export function createHealth(options: HealthOptions) {
  const { clock, storeTimeoutMs, dispatch, progress, keeping, unsettled, isAway, state } = options
  let asked: { readonly answer: Promise<Keeping>; answeredAtMs: number | undefined } | undefined
  /** So many were unsettled when the store was found full; it is so until something has been settled. */
  let fullAt: number | undefined
  let lost: 'store_emptied' | 'store_replaced' | undefined
  /** The claim loop as it was first seen to want this turn. */
  let seen: { readonly turns: number; readonly sinceMs: number } | undefined

  function askedLately(): Promise<Keeping> {
    const isStale = asked?.answeredAtMs !== undefined && Math.abs(clock.now() - asked.answeredAtMs) >= FRESH_MS
    if (asked !== undefined && !isStale) return asked.answer
    const asking = { answer: keeping(), answeredAtMs: undefined as number | undefined }
    asked = asking
    void asking.answer.then(() => (asking.answeredAtMs = clock.now()))
    return asking.answer
  }

  async function isFull(): Promise<boolean> {
    if (fullAt === undefined) return false
    const left = await withDeadline<number>(clock, storeTimeoutMs, Promise.resolve(unsettled()), () => Infinity)
    if (left === 0 || left < fullAt) fullAt = undefined
    return fullAt !== undefined
  }

  /** A turn that is wanted now may have been wanted for long; that it was already wanted when somebody last asked tells it. */
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
    if (kept === 'spool_failing') return isAway() ? ['spool_failing', 'store_away'] : ['spool_failing']
    return isAway() || kept === 'spool' ? ['store_away'] : []
  }

  function ofWork(now: Progress): readonly HealthCode[] {
    const found: HealthCode[] = lost === undefined ? [] : [lost]
    if (!dispatch) return [...found, 'not_dispatching']
    if (!now.hasBegun) return [...found, 'not_started']
    if (isStuck(now)) found.push('claims_stuck')
    if (!now.hasStopped && now.oldestDueMs > OLD_MS) found.push('backlog_old')
    return found
  }

  async function codesNow(): Promise<readonly HealthCode[]> {
    if (state() === 'closed') return ['closed']
    // Its store is about to be closed, and asking it would tell of nothing else.
    if (state() === 'closing') return ['closing', ...(isAway() ? (['store_away'] as const) : []), ...ofWork(progress())]
    // At once, so that both wait for one time.
    const [kept, full] = await Promise.all([askedLately(), isFull().catch(() => false)])
    // It may have been closed meanwhile.
    if (state() !== 'open') return codesNow()
    return [...ofKeeping(kept), ...(full ? (['store_full'] as const) : []), ...ofWork(progress())]
  }

  return {
    /** Without a question to anybody. */
    isLive: (): boolean => state() !== 'closed',
    /** An admission found the store full. */
    sawFull(): void {
      if (fullAt !== undefined) return
      Promise.resolve(unsettled()).then(
        (count) => (fullAt ??= count),
        () => {},
      )
    },
    /** The store has lost what it held: it is so until the process ends. */
    sawLost(reason: 'store_emptied' | 'store_replaced'): void {
      lost = reason
    },
    async health(): Promise<Health> {
      const codes = await codesNow()
      const spoils = (side: Side): boolean => codes.some((code) => isAmong(HEALTH_REASONS[code][0], side))
      const isKnown = !codes.includes('not_started') && !codes.includes('not_dispatching') && !codes.includes('closed')
      return {
        live: !spoils('live'),
        ready: !spoils('ready'),
        working: spoils('working') ? false : isKnown ? true : undefined,
        oldestDueMs: isKnown ? progress().oldestDueMs : undefined,
        reasons: codes.map((code) => ({ code, text: HEALTH_REASONS[code][1] })),
      }
    },
  }
}

function isAmong(sides: readonly Side[], side: Side): boolean {
  return sides.includes(side)
}
