/** Of the locked messages: the events that need not be recognised any more (:before), at most :limit. Returns how many. */
export const FORGET_EVENTS = /* sql */ `
WITH gone AS (
  DELETE FROM {schema}.events WHERE seq IN (
    SELECT seq FROM {schema}.events
    WHERE message = ANY (string_to_array(current_setting('messaging_webhooks.locked'), ',')::bigint[])
      AND state = 3 AND ended_at < :before
    LIMIT :limit
  ) RETURNING seq
), bodiless AS (
  DELETE FROM {schema}.bodies WHERE seq IN (SELECT seq FROM gone)
) SELECT count(*) AS forgotten FROM gone;
`
