/**
 * The events that need not be recognised any more (:before), at most :limit: those of the locked messages, and those whose
 * message is gone. Returns how many.
 */
export const FORGET_EVENTS = /* sql */ `
WITH old AS MATERIALIZED (
  SELECT message, id FROM {schema}.events
  WHERE message = ANY (string_to_array(current_setting('messaging_webhooks.locked'), ',')::bigint[])
    AND raw IS NULL AND since < :before
  LIMIT :limit
), lost AS MATERIALIZED (
  SELECT message, id FROM (
    SELECT message, id FROM {schema}.events WHERE raw IS NULL AND since < :before ORDER BY since LIMIT :limit
  ) AS oldest WHERE NOT EXISTS (SELECT FROM {schema}.messages m WHERE m.id = oldest.message)
), gone AS (
  DELETE FROM {schema}.events e USING (SELECT * FROM old UNION SELECT * FROM lost) AS each
  WHERE e.message = each.message AND e.id = each.id RETURNING 1
) SELECT count(*) AS forgotten FROM gone;
`
