/** The values of `events.state` that are set from here; statements and indexes write them as numbers, and 0 for waiting. */
export const SETTLED = 1
export const DEAD = 2
