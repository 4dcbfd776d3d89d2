/** When something is due next; more than one row, for some may be excluded. */
export const NEXT_DUE = /* sql */ `
SELECT lower(hex(key)) AS key, due FROM messages WHERE due IS NOT NULL ORDER BY due LIMIT :limit
`
