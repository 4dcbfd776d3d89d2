/**
 * Ends the state of a dead letter, whose message is locked. :now, :id (hex), :discard, :force. It waits again, its attempts
 * counted anew, as late where a later event was handed over meanwhile; or it is settled. What is left of a damaged one is
 * found damaged again by whoever claims it. Returns a row where there was one.
 */
export const RESOLVE = /* sql */ `
WITH dead AS MATERIALIZED (
  SELECT d.seq, d.message, d.id, d.awaits, coalesce(e.ord, d.ord) AS ord, coalesce(e.final, false) AS final,
    NOT :force AND e.ord <> ''
      AND coalesce(e.ord < (CASE WHEN e.final THEN m.handed_open ELSE m.handed END), false) AS late,
    EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = d.message) AS others
  FROM {schema}.dead_letters d LEFT JOIN {schema}.events e ON e.message = d.message AND e.id = d.id
    LEFT JOIN {schema}.messages m ON m.id = d.message
  WHERE d.id = decode(:id, 'hex') ORDER BY e.id IS NULL LIMIT 1
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
  ON CONFLICT DO NOTHING
)
SELECT seq FROM dead;
`
