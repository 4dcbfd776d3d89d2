/** Counts the attempt and gives the event the token of its new holder. */
export const CLAIM_EVENT = /* sql */ `
UPDATE events SET attempts = :attempts, token = :token WHERE seq = :seq
`
