/** A damaged event becomes a dead letter, with what is left of it. */
export const SET_ASIDE = /* sql */ `
UPDATE events SET state = 2, error = :error, ended_at = :now WHERE seq = :seq
`
