/** How long handlers take lately: whether an event that is leased before there is a slot for it will have one in a moment. */

/** What is leased ahead should wait for its slot no longer than this. */
const AHEAD_MS = 50
/** A slower attempt counts at once, a quicker one by this share. */
const SHARE = 1 / 8

interface Pace {
  /** The handlers of an event took so long. */
  took(ms: number): void
  /** How many events may wait for each slot: none as long as nothing is known. */
  readonly ahead: number
}

export function createPace(mostAhead: number): Pace {
  let attemptMs = Infinity
  return {
    took(ms) {
      attemptMs = ms >= attemptMs || attemptMs === Infinity ? ms : attemptMs + (ms - attemptMs) * SHARE
    },
    get ahead() {
      return Math.min(mostAhead, Math.floor(AHEAD_MS / attemptMs))
    },
  }
}
