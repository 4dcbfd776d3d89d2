/**
 * Ends the state of a dead letter, whose message is locked. :now, :id (hex), :discard, :force. It waits again, its attempts
 * counted anew, as late where a later event was handed over meanwhile; or it is settled. Returns a row where there was one.
 */
export const RESOLVE = /* sql */ `
WITH dead AS MATERIALIZED (
  SELECT e.seq, m.id AS message,
    NOT :force AND e.ord <> '' AND e.ord < (CASE WHEN e.final THEN m.handed_open ELSE m.handed END) AS late
  FROM {schema}.events e JOIN {schema}.messages m ON m.id = e.message
  WHERE e.state = 2 AND e.id = decode(:id, 'hex') LIMIT 1
), discarded AS (
  UPDATE {schema}.events e SET state = 1, error = NULL, ended_at = :now
  FROM dead WHERE :discard AND e.seq = dead.seq
), waiting AS (
  UPDATE {schema}.events e SET state = 0, due = :now, attempts = 0, token = 0, replay = true, late = dead.late,
    error = NULL, ended_at = NULL
  FROM dead WHERE NOT :discard AND e.seq = dead.seq
), queued AS (
  UPDATE {schema}.messages m SET due = least(m.due, :now)
  FROM dead WHERE NOT :discard AND m.id = dead.message AND m.lease_token = 0
)
SELECT seq FROM dead;
`
