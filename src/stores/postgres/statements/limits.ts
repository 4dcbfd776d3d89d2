/** None waits for ever: :lockMs and :queryMs, digits in quotes. Nothing of it outlives the transaction. */
export const LIMITS = /* sql */ `
SET LOCAL lock_timeout = :lockMs; SET LOCAL statement_timeout = :queryMs;
`
