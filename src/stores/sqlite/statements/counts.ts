/** How much is unsettled and dead; both are counted in narrow partial indexes. */
export const COUNTS = /* sql */ `
SELECT (SELECT count(*) FROM events WHERE state = 0) AS unsettled,
  (SELECT count(*) FROM events WHERE state = 2) AS deadLetters
`
