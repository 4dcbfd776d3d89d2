/** The lease of an event that nobody has seen: its attempt did not happen. */
import { cut, cutRowid } from './cut.ts'

const TAKEN_BACK = `UPDATE events SET token = 0, attempts = ${cut('attempts')} - 1`

/** By the one who held it; says of which message it is. */
export const GIVE_BACK = /* sql */ `
${TAKEN_BACK}, due = :due
WHERE id = :id AND state = 0 AND token = :token
RETURNING ${cutRowid('message')} AS message
`

/** Says of which message it is. */
export const TAKE_BACK = /* sql */ `
${TAKEN_BACK}
WHERE id = :id AND state = 0 AND token <> 0
  AND token = (SELECT lease_token FROM messages WHERE rowid = events.message)
RETURNING ${cutRowid('message')} AS message
`

export const TAKE_BACK_OF_MESSAGE = /* sql */ `
${TAKEN_BACK}
WHERE message = :message AND state = 0 AND token <> 0
  AND token = (SELECT lease_token FROM messages WHERE rowid = :message)
`
