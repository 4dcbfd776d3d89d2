/** How much is unsettled and dead; both are counted in partial indexes. */
export const COUNTS = /* sql */ `
SELECT (SELECT count(*) FROM {schema}.events WHERE state = 0) AS unsettled,
  (SELECT count(*) FROM {schema}.events WHERE state = 2) AS dead
`
