/** Of the locked messages: the events that need not be recognised any more (:before), at most :limit. Returns how many. */
export const FORGET_EVENTS = /* sql */ `
WITH old AS MATERIALIZED (
  SELECT message, id FROM {schema}.events
  WHERE message = ANY (string_to_array(current_setting('messaging_webhooks.locked'), ',')::bigint[])
    AND raw IS NULL AND since < :before
  LIMIT :limit
), gone AS (
  DELETE FROM {schema}.events e USING old WHERE e.message = old.message AND e.id = old.id RETURNING 1
) SELECT count(*) AS forgotten FROM gone;
`
