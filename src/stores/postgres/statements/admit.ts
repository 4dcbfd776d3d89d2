/** Admits a batch: see the function. :now, :lease (its end), :bytes (hex), and arrays of one entry an event. Returns one row. */
export const ADMIT = /* sql */ `
SELECT admissions, tokens, spoilt FROM {schema}.admit(
  :now, :lease, :keys, :ids, :orders, :finals, :steps, :awaits, :gaps, :leasables, decode(:bytes, 'hex'), :starts,
  :recordEnds, :bodyEnds
);
`
