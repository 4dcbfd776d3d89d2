/**
 * A page of dead letters, oldest first. The cursor is the last one's time and number, as a text, so that it names its place
 * whatever stands there.
 */
import { cut } from './cut.ts'

export const DEAD_LETTERS = /* sql */ `
SELECT ended_at || '.' || seq AS place, lower(hex(id)) AS id, ${cut('attempts')} AS attempts, error,
  ${cut('ended_at')} AS ended_at, ${cut('admitted_at')} AS admitted_at, record, raw
FROM events WHERE state = 2 AND (events.ended_at, seq) > (:endedAt, :seq) ORDER BY events.ended_at, seq LIMIT :limit
`
