/** Claims: see the function. :now, :lease (its end), :exclude (keys, hex), :limit. Returns claims, damages, and how long from now. */
export const CLAIM = /* sql */ `
SELECT * FROM {schema}.claim(:now, :lease, :exclude, :limit);
`
