/**
 * Locks messages of events that need not be recognised any more (:before), of at most :limit such events, and passes over
 * those that somebody works with. Their numbers are left for the next statement in a setting of the transaction: that one
 * must begin after the locking, or it would not see what was admitted just before.
 */
export const LOCK_FORGETTABLE = /* sql */ `
SELECT count(*) AS locked, set_config('messaging_webhooks.locked', coalesce(string_agg(id::text, ','), ''), true)
FROM (
  SELECT id FROM {schema}.messages
  WHERE id IN (
    SELECT message FROM {schema}.events WHERE raw IS NULL AND since < :before ORDER BY since LIMIT :limit
  ) FOR UPDATE SKIP LOCKED
) AS found;
`
