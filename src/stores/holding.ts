/**
 * Whether this process is still the holder of what it has leased. It shows life in the store at a steady beat; one that was
 * silent for too long is dead, and any other may take what it held. So a process that could not show life must know it, by a
 * clock that nobody sets, before the others do.
 */
import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { elapsedMs, withDeadline, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'

/** How often a process shows life, and how soon it tries again where that failed. */
const BEAT_MS = 2_000
const AGAIN_MS = 500
/** Silent for so long, a process is dead. */
export const DEAD_AFTER_MS = 8_000
/** It is sure of its life until so long before that: the time that it has for one more question and for telling its handlers. */
const MARGIN_MS = 1_500
/** How long it waits for the answer to that question. */
const ASK_MS = 1_000
/** A beat that takes longer has failed. */
const SLOW_MS = 3_000
/**
 * Nobody is dead for a silence that everybody shared. Where no beat of anybody came through for so long, the server was away, was
 * replaced by another, stood still, or had its clock set: then all are given `DEAD_AFTER_MS` anew, by whichever beat is the next.
 */
export const GAP_MS = 4_000

/** One showing of life. */
export interface Beat {
  readonly id: string
  /** The first of this id, which nobody knows yet. */
  readonly isFirst: boolean
}

/** What the store answers. */
export interface Beaten {
  /** False where others have taken this holder for dead, or the store has lost it. */
  readonly isKnown: boolean
  /** Nobody else has the store open. */
  readonly isAlone: boolean
  /** When the next of the others is dead, from now, unless it shows life before; undefined where there is none. */
  readonly nextDeathInMs: number | undefined
  /** Whether something that a dead one held is due again. */
  readonly hasReleased: boolean
}

interface HoldingOptions {
  readonly clock: Clock
  readonly beat: (beat: Beat) => Promise<Beaten>
  /** What was leased under the present id is ours no more, or may soon be somebody else's. */
  readonly onLost: () => void
  /** Something may be due that was not; after an outage, too. */
  readonly onWork: () => void
  /** In milliseconds; never set back. Default `elapsedMs()`. */
  readonly monotonicMs?: () => number
}

export interface Holding {
  /** What leases are taken under. Another one after a loss. */
  readonly id: string
  /**
   * Whether what is leased under it is ours: true where nobody can have taken us for dead, false where the others have by now,
   * undefined where only the store can tell.
   */
  isHeld(): boolean | undefined
  /** The store says that it does not know this id: it is asked at once. */
  refuse(id: string): void
  /** Resolves to the id once that is sure; rejects where the store does not answer. */
  sure(): Promise<string>
  /** Shows no more life, and resolves when no beat is under way. */
  stop(): Promise<void>
}

/** As those who look on see this process. */
export const HOLDER_NAME = `${hostname()}:${process.pid}`

/** A number that JavaScript and every store keep exactly. */
const newId = (): string => String(randomInt(1, 2 ** 48 - 1))

/** Shows life for the first time with the first `sure()`. */
export function createHolding(options: HoldingOptions): Holding {
  const { clock, beat, onLost, onWork, monotonicMs = elapsedMs() } = options
  let id = newId()
  let isFirst = true
  let isStopped = false
  let isAlone = true
  let sureUntilMs = -Infinity
  /** What was leased is given up already. */
  let isLost = false
  let underWay: Promise<void> | undefined
  let cancelBeat = (): void => {}
  let cancelEnd = (): void => {}

  function isHeld(): boolean | undefined {
    const leftMs = sureUntilMs - monotonicMs()
    if (leftMs > 0) return true
    return isFirst || isAlone || leftMs > -ASK_MS ? undefined : false
  }

  const isSure = (): boolean => isHeld() === true

  function lose(): void {
    if (isLost) return
    isLost = true
    onLost()
  }

  async function beatOnce(): Promise<void> {
    cancelBeat()
    const sentMs = monotonicMs()
    try {
      const answer = beat({ id, isFirst })
      const beaten = await withDeadline(clock, SLOW_MS, answer, () => {
        // What it says later is too old to go by.
        answer.catch(() => {})
        throw new MessagingWebhooksError('store_slow', 'It did not take a sign of life.')
      })
      heard(sentMs, beaten)
    } catch (error) {
      beatIn(AGAIN_MS)
      throw error
    }
  }

  function heard(sentMs: number, { isKnown, nextDeathInMs, hasReleased, ...others }: Beaten): void {
    if (isStopped) return
    if (!isKnown) {
      lose()
      id = newId()
      isFirst = true
      sureUntilMs = -Infinity
      beatIn(0)
      return
    }
    const wasAway = isLost
    isFirst = false
    isLost = false
    isAlone = others.isAlone
    sureUntilMs = sentMs + DEAD_AFTER_MS - MARGIN_MS
    cancelEnd()
    cancelEnd = clock.setTimer(doubt, sureUntilMs - monotonicMs())
    // Where a death may be found out sooner than by the usual beat, it is.
    beatIn(Math.min(BEAT_MS, Math.max(AGAIN_MS / 2, nextDeathInMs ?? BEAT_MS)))
    if (hasReleased || wasAway) onWork()
  }

  function beatIn(ms: number): void {
    cancelBeat()
    if (!isStopped) cancelBeat = clock.setTimer(() => void once().catch(() => {}), ms)
  }

  /** One at a time: who comes meanwhile waits for the same. */
  function once(): Promise<void> {
    underWay ??= beatOnce().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  /**
   * The process stood still, or no beat came through. A store that answers decides: as long as nobody has taken us for dead,
   * nothing was taken.
   */
  function doubt(): void {
    if (isStopped || isSure()) return
    void settled(sure())
    cancelEnd = clock.setTimer(() => {
      if (!isStopped && !isSure()) lose()
    }, ASK_MS)
  }

  async function sure(): Promise<string> {
    // One that was under way may have been sent before we stood still; the first one under a new id follows an answer.
    for (let asked = 0; !isSure() && asked < 4; asked += 1) await once()
    if (!isSure()) throw new MessagingWebhooksError('store_slow', 'It answers too late for a sign of life.')
    return id
  }

  return {
    get id() {
      return id
    },
    isHeld,
    refuse(refused) {
      if (refused === id) sureUntilMs = -Infinity
    },
    sure,
    async stop() {
      isStopped = true
      cancelBeat()
      cancelEnd()
      sureUntilMs = -Infinity
      await settled(underWay)
    },
  }
}

async function settled(work: Promise<unknown> | undefined): Promise<void> {
  try {
    await work
  } catch {
    // Whoever asks for it hears of it.
  }
}
