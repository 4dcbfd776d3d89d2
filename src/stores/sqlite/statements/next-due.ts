/** When something is due next; more than one row, for some may be excluded. */
import { cut } from './cut.ts'

export const NEXT_DUE = /* sql */ `
SELECT lower(hex(key)) AS key, ${cut('due')} AS due FROM messages WHERE due IS NOT NULL ORDER BY messages.due LIMIT :limit
`
