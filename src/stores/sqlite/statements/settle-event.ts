/** Ends an event whose lease still holds; says of which message it is. */
import { cutRowid } from './cut.ts'

export const SETTLE_EVENT = /* sql */ `
UPDATE events SET state = :state, error = :error, ended_at = :now
WHERE id = :id AND state = 0 AND token = :token
RETURNING ${cutRowid('message')} AS message
`
