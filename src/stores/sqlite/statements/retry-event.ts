/** To be tried again, not before its time. */
export const RETRY_EVENT = /* sql */ `
UPDATE events SET due = :due, error = :error WHERE seq = :seq
`
