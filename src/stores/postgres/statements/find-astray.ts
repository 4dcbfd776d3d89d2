/** Finds what no verb would meet: see the function. :now, :afterMessage, :afterSeq, :limit. Returns a row for each, and one more. */
export const FIND_ASTRAY = /* sql */ `
SELECT * FROM {schema}.find_astray(:now, :afterMessage, :afterSeq, :limit);
`
