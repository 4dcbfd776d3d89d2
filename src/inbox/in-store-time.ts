/** How long anybody waits for an answer of the store: a connection may fall silent. */
import { withDeadline, type Clock } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'

/** Rejects with `store_slow` after `timeoutMs`, and calls `onTimeout` then; what the answer brings later is its business. */
export function inStoreTime<T>(
  clock: Clock,
  timeoutMs: number,
  answer: Promise<T>,
  onTimeout = (): void => {},
): Promise<T> {
  return withDeadline(clock, timeoutMs, answer, () => {
    onTimeout()
    throw new MessagingWebhooksError('store_slow')
  })
}

const NOTHING = (): void => {}

const OVER = Symbol('over')

/**
 * One bound for all that is asked of the store in one matter, and for what waits before it is asked. Whoever has it waits
 * for one answer at a time.
 */
export class Patience {
  /** Its time has passed. */
  isOver = false
  readonly #clock: Clock
  readonly #timeoutMs: number
  #cancel: (() => void) | undefined
  #giveUp = NOTHING

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** Its time runs from the first wait on, or from an earlier `begin`. */
  begin(): void {
    this.#cancel ??= this.#clock.setTimer(() => {
      this.isOver = true
      this.#giveUp()
    }, this.#timeoutMs)
  }

  /** Settles as the answer does, or rejects with `store_slow` when the time is over, and calls `onTimeout` then. */
  async wait<T>(answer: Promise<T>, onTimeout = NOTHING): Promise<T> {
    this.begin()
    const over = new Promise<typeof OVER>((resolve) => {
      this.#giveUp = () => resolve(OVER)
    })
    if (this.isOver) this.#giveUp()
    const first = await Promise.race([answer, over])
    if (first !== OVER) return first
    onTimeout()
    throw new MessagingWebhooksError('store_slow')
  }

  /** Nobody waits any more. */
  end(): void {
    this.#cancel?.()
  }
}
