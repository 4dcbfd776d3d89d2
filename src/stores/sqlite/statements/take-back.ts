/** The lease of an event that nobody has seen: its attempt did not happen. Says of which message it is. */
import { cut, cutRowid } from './cut.ts'

export const TAKE_BACK = /* sql */ `
UPDATE events SET token = 0, attempts = ${cut('attempts')} - 1
WHERE id = :id AND state = 0 AND token <> 0
  AND token = (SELECT lease_token FROM messages WHERE rowid = events.message)
RETURNING ${cutRowid('message')} AS message
`
