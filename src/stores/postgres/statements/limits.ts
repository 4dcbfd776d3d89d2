/** None waits for ever: :lockMs and :queryMs in milliseconds. Nothing of it outlives the transaction. */
export const LIMITS = /* sql */ `
SELECT set_config('lock_timeout', :lockMs::text, true), set_config('statement_timeout', :queryMs::text, true);
`
