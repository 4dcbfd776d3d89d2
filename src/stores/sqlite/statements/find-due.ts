/** Messages of which something is due or whose lease has run out, the longest due first. */
import { cut } from './cut.ts'

export const FIND_DUE = /* sql */ `
SELECT rowid, lower(hex(key)) AS key, handed, handed_open, ${cut('token')} AS token FROM messages
WHERE due <= :now ORDER BY due, rowid LIMIT :limit
`
