/**
 * A page of events, newest first; for one message it walks through the table, as REPORTS does. `held`: its message is under
 * a lease, and that is this event's.
 */
import { cut } from './cut.ts'

function eventsWhere(condition: string): string {
  return /* sql */ `
SELECT CAST(events.seq AS TEXT) AS place, lower(hex(events.id)) AS id, ord, state, late, ${cut('attempts')} AS attempts,
  ${cut('admitted_at')} AS admitted_at, ${cut('ended_at')} AS ended_at, error, record, raw,
  messages.lease_token <> 0 AND messages.lease_token = events.token AS held,
  ${cut('CASE WHEN messages.lease_token <> 0 AND messages.lease_token = events.token THEN messages.due ELSE events.due END')} AS due
FROM events LEFT JOIN messages ON messages.rowid = events.message
WHERE ${condition} AND events.seq < :before ORDER BY events.seq DESC LIMIT :limit
`
}

export const EVENTS = eventsWhere('true')
export const EVENTS_OF_MESSAGE = eventsWhere('events.message = (SELECT rowid FROM messages WHERE key = :key)')
export const EVENT = eventsWhere('events.id = :id')
