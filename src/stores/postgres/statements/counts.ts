/** How much is unsettled and dead: each has a table of its own. */
export const COUNTS = /* sql */ `
SELECT (SELECT count(*) FROM {schema}.waiting) AS unsettled, (SELECT count(*) FROM {schema}.dead_letters) AS dead
`
