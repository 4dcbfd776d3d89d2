/** Looks into stores take their turns, so that however many people search at once, callbacks are answered as before. */
import { Refused } from './answer.ts'

/** In this process, of all inspectors together. */
const AT_ONCE = 2
const MOST_WAITING = 20
const RETRY_AFTER_SECONDS = 3

let running = 0
const waiting: (() => void)[] = []

/** Runs the look when its turn comes. Rejects with a `Refused` (503) where too many wait. */
export async function inTurn<T>(look: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    if (waiting.length >= MOST_WAITING)
      throw new Refused(
        503,
        'inspector_busy',
        `${AT_ONCE} searches run and ${MOST_WAITING} wait. Try again in some seconds.`,
        { 'retry-after': String(RETRY_AFTER_SECONDS) },
      )
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running += 1
  try {
    return await look()
  } finally {
    const next = waiting.shift()
    // Its place goes to the next one.
    if (next === undefined) running -= 1
    else next()
  }
}
