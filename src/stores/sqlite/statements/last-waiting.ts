/** How far a step of FIND_ASTRAY comes, as a text, and how many messages it looks at. */
export const LAST_WAITING = /* sql */ `
SELECT '' || max(message) AS last, count(*) AS messages FROM (
  SELECT DISTINCT message FROM events WHERE state = 0 AND message > :after ORDER BY message LIMIT :limit
)
`
