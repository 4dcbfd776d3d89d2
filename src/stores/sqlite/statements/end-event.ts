/** Settled (1) or dead (2). */
export const END_EVENT = /* sql */ `
UPDATE events SET state = :state, error = :error, ended_at = :now WHERE seq = :seq
`
