/** The values of `events.state`; statements and indexes write them as numbers. */
export const WAITING = 0
export const SETTLED = 1
export const DEAD = 2
