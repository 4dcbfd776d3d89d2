/** Puts an event off whose lease still holds; says of which message it is. */
import { cutRowid } from './cut.ts'

export const RETRY_EVENT = /* sql */ `
UPDATE events SET due = :due, error = :error
WHERE id = :id AND state = 0 AND token = :token
RETURNING ${cutRowid('message')} AS message
`
