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

/** One bound for all that is asked of the store in one matter, and for what waits before it is asked. */
export interface Patience {
  readonly isOver: boolean
  /** It has begun with the first wait, or earlier, by this. */
  begin(): void
  /** Settles as the answer does, or rejects with `store_slow` when the time is over, and calls `onTimeout` then. */
  wait<T>(answer: Promise<T>, onTimeout?: () => void): Promise<T>
  /** Nobody waits any more. */
  end(): void
}

const NOTHING = (): void => {}

const OVER = Symbol('over')

/** Whoever has it waits for one answer at a time. */
export function createPatience(clock: Clock, timeoutMs: number): Patience {
  let isOver = false
  let cancel: (() => void) | undefined
  let giveUp = NOTHING

  function begin(): void {
    cancel ??= clock.setTimer(() => {
      isOver = true
      giveUp()
    }, timeoutMs)
  }

  return {
    get isOver() {
      return isOver
    },
    begin,
    async wait(answer, onTimeout = NOTHING) {
      begin()
      const over = new Promise<typeof OVER>((resolve) => {
        giveUp = () => resolve(OVER)
      })
      if (isOver) giveUp()
      const first = await Promise.race([answer, over])
      if (first !== OVER) return first
      onTimeout()
      throw new MessagingWebhooksError('store_slow')
    },
    end() {
      cancel?.()
    },
  }
}
