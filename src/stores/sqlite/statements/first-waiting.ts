/** A message's first waiting event. */
import { cut } from './cut.ts'

export const FIRST_WAITING = /* sql */ `
SELECT seq, lower(hex(id)) AS id, ord, final, ${cut('due')} AS due, late, replay, ${cut('attempts')} AS attempts,
  ${cut('admitted_at')} AS admitted_at, record, raw
FROM events WHERE message = :message AND state = 0 ORDER BY ord LIMIT 1
`
