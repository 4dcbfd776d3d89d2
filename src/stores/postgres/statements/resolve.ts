/**
 * Ends the state of a dead letter, whose message is locked. :now, :id (hex), :discard, :force. It waits again, its attempts
 * counted anew, as late where a later event was handed over meanwhile; or it is settled. Returns a row where there was one.
 */
export const RESOLVE = /* sql */ `
WITH dead AS MATERIALIZED (
  SELECT d.seq, d.message, d.id, d.awaits, e.ord, e.final,
    NOT :force AND e.ord <> '' AND e.ord < (CASE WHEN e.final THEN m.handed_open ELSE m.handed END) AS late,
    EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = d.message) AS others
  FROM {schema}.dead_letters d JOIN {schema}.events e ON e.message = d.message AND e.id = d.id
    JOIN {schema}.messages m ON m.id = d.message
  WHERE d.id = decode(:id, 'hex') LIMIT 1
), ended AS (
  DELETE FROM {schema}.dead_letters d USING dead WHERE d.seq = dead.seq
), discarded AS (
  UPDATE {schema}.events e SET since = :now FROM dead WHERE :discard AND e.message = dead.message AND e.id = dead.id
), queued AS (
  UPDATE {schema}.waiting w SET turn = least(w.turn, :now)
  FROM dead WHERE NOT :discard AND w.message = dead.message AND w.turn IS NOT NULL AND NOT w.leased
), back AS (
  -- Its retention counts from its settlement, whenever it was admitted.
  INSERT INTO {schema}.waiting
    (message, ord, id, final, awaits, late, replay, admitted, due, attempts, token, turn, leased)
  SELECT message, ord, id, final, awaits, late, true, 0, :now, 0, 0, CASE WHEN NOT others THEN :now END, false
  FROM dead WHERE NOT :discard
)
SELECT seq FROM dead;
`
