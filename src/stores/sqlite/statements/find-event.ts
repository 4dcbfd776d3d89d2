/** The state of an event by its identity; no row where it was never admitted or is forgotten. */
export const FIND_EVENT = /* sql */ `
SELECT seq, message, state, token, attempts, ord, final FROM events WHERE id = :id
`
