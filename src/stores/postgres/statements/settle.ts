/** Settles: see the function. :now, :slack, and arrays of one entry a settlement. Returns one row. */
export const SETTLE = /* sql */ `
SELECT held FROM {schema}.settle(:now, :slack, :keys, :ids, :tokens, :states, :aheads, :errors);
`
