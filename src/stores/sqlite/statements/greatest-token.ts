/** The greatest token of a lease under which an event of this message may still be settled. */
export const GREATEST_TOKEN = /* sql */ `
SELECT coalesce(max(token), 0) AS token FROM events
WHERE message = :message AND state = 0 AND token BETWEEN 0 AND 4503599627370496
`
