/** The state of an event by its identity; no row where it was never admitted or is forgotten. */
import { cutRowid } from './cut.ts'

export const FIND_EVENT = /* sql */ `
SELECT seq, ${cutRowid('message')} AS message, state, ord, final FROM events WHERE id = :id
`
