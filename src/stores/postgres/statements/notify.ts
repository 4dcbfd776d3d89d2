/** Tells whoever listens on the channel $1: $2 says who tells. */
export const NOTIFY = /* sql */ `
SELECT pg_notify($1::text, $2::text)
`
