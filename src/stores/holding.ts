/**
 * Whether this process still holds its leases. A worker sends heartbeats to the store; after a silence it is declared dead, and
 * others take over its leases. A process that could not send heartbeats must notice that before the others do, by a monotonic
 * clock.
 */
import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { elapsedMs, withDeadline, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'

/** Heartbeat interval, and the delay before a failed heartbeat is repeated. */
const HEARTBEAT_MS = 2_000
const AGAIN_MS = 500
/** A worker that is silent for this long is dead. */
export const DEAD_AFTER_MS = 8_000
/** A worker stops relying on its leases this long before `DEAD_AFTER_MS`: it asks the store once more and aborts its handlers. */
const MARGIN_MS = 1_500
/** How long a worker waits for the answer to that last question. */
const ASK_MS = 1_000
/** A heartbeat that takes longer has failed. */
const SLOW_MS = 3_000
/**
 * If no heartbeat of any worker arrived for this long, the server was unavailable, replaced or suspended, or its clock was set.
 * Then no worker is dead, and all get `DEAD_AFTER_MS` again from the next heartbeat.
 */
export const GAP_MS = 4_000

export interface Heartbeat {
  readonly id: string
  /** Whether it is the first heartbeat of this id. */
  readonly isFirst: boolean
}

export interface HeartbeatAnswer {
  /** False if this worker was declared dead, or the store has lost it. */
  readonly isKnown: boolean
  /** No other worker uses the store. */
  readonly isAlone: boolean
  /** Time until the next other worker is dead without a heartbeat. Undefined without other workers. */
  readonly nextDeathInMs: number | undefined
  /** Whether leases of a dead worker were released. */
  readonly hasReleased: boolean
  /** The latest time known before the clock of the server was set back. Undefined if it was not. */
  readonly setBackFromMs: number | undefined
}

export type Holding = ReturnType<typeof createHolding>

/** Names this process in lists of workers. */
export const WORKER_NAME = `${hostname()}:${process.pid}`

/** An id is a number that JavaScript and every store represent exactly. */
const newId = (): string => String(randomInt(1, 2 ** 48 - 1))

/** Sends the first heartbeat with the first `sure()`. */
export function createHolding(options: {
  readonly clock: Clock
  readonly sendHeartbeat: (heartbeat: Heartbeat) => Promise<HeartbeatAnswer>
  /** Called when leases granted to the current id are lost, or may be soon. */
  readonly onLost: () => void
  /** Called when an event may be due, also after an outage. */
  readonly onWork: () => void
  /** Called when the clock of the server was set back from this time. */
  readonly onSetBack: (fromMs: number) => void
  /** Monotonic milliseconds. Default `elapsedMs()`. */
  readonly monotonicMs?: () => number
}) {
  const { clock, sendHeartbeat, onLost, onWork, onSetBack, monotonicMs = elapsedMs() } = options
  let id = newId()
  let isFirst = true
  let isStopped = false
  let isAlone = true
  let sureUntilMs = -Infinity
  /** Whether `onLost` was called for this id. */
  let isLost = false
  let underWay: Promise<void> | undefined
  let cancelNext = (): void => {}
  let cancelEnd = (): void => {}

  /**
   * Whether this process holds its leases: true if it cannot have been declared dead, false if it has been by now, undefined if
   * only the store can tell.
   */
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

  async function sendNow(): Promise<void> {
    cancelNext()
    const sentMs = monotonicMs()
    try {
      const answer = sendHeartbeat({ id, isFirst })
      const answered = await withDeadline(clock, SLOW_MS, answer, () => {
        // The answer is too old to rely on.
        answer.catch(() => {})
        throw new MessagingWebhooksError('store_slow', 'It did not answer a heartbeat in time.')
      })
      onAnswer(sentMs, answered)
    } catch (error) {
      sendIn(AGAIN_MS)
      throw error
    }
  }

  function onAnswer(
    sentMs: number,
    { isKnown, nextDeathInMs, hasReleased, setBackFromMs, ...others }: HeartbeatAnswer,
  ): void {
    if (isStopped) return
    if (setBackFromMs !== undefined) onSetBack(setBackFromMs)
    if (!isKnown) {
      lose()
      id = newId()
      isFirst = true
      sureUntilMs = -Infinity
      sendIn(0)
      return
    }
    const wasLost = isLost
    isFirst = false
    isLost = false
    isAlone = others.isAlone
    sureUntilMs = sentMs + DEAD_AFTER_MS - MARGIN_MS
    cancelEnd()
    cancelEnd = clock.setTimer(doubt, sureUntilMs - monotonicMs())
    // Send the next heartbeat earlier if a death can be detected earlier.
    sendIn(Math.min(HEARTBEAT_MS, Math.max(AGAIN_MS / 2, nextDeathInMs ?? HEARTBEAT_MS)))
    if (hasReleased || wasLost) onWork()
  }

  function sendIn(ms: number): void {
    cancelNext()
    if (!isStopped) cancelNext = clock.setTimer(() => void once().catch(() => {}), ms)
  }

  /** Sends one heartbeat at a time. Concurrent callers share it. */
  function once(): Promise<void> {
    underWay ??= sendNow().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  /**
   * After a suspension or a failed heartbeat, asks the store: as long as this worker was not declared dead, its leases are
   * valid.
   */
  function doubt(): void {
    if (isStopped || isSure()) return
    // The next operation of the store receives the error.
    void sure().catch(() => {})
    cancelEnd = clock.setTimer(() => {
      if (!isStopped && !isSure()) lose()
    }, ASK_MS)
  }

  /** Resolves to the id once it is confirmed. Rejects if the store does not answer. */
  async function sure(): Promise<string> {
    // A pending heartbeat may have been sent before the suspension. The first one of a new id follows an answer.
    for (let asked = 0; !isSure() && asked < 4; asked += 1) await once()
    if (!isSure()) throw new MessagingWebhooksError('store_slow', 'It answers heartbeats too late.')
    return id
  }

  return {
    /** The worker id that leases are granted to. It changes after a loss. */
    get id() {
      return id
    },
    isHeld,
    sure,
    /** Stops the heartbeat. Resolves when none is pending. */
    async stop(): Promise<void> {
      isStopped = true
      cancelNext()
      cancelEnd()
      sureUntilMs = -Infinity
      // The caller of the heartbeat receives its error.
      await underWay?.catch(() => {})
    },
  }
}
