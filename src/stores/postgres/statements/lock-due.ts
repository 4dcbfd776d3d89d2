/**
 * Locks messages of which something is due, the longest due first, and passes over those that somebody else has locked.
 * :now, :exclude (hex keys), :limit. Their numbers are left, for the next statement, in a setting of the transaction: that
 * statement must begin after the locking, or it would not see what was admitted just before. Returns how many they are.
 */
export const LOCK_DUE = /* sql */ `
SELECT count(*) AS locked, set_config('messaging_webhooks.locked', coalesce(string_agg(id::text, ','), ''), true)
FROM (
  SELECT id FROM {schema}.messages
  WHERE due <= :now AND key NOT IN (SELECT decode(hex, 'hex') FROM unnest(:exclude::text[]) AS hex)
  ORDER BY due, id LIMIT :limit FOR UPDATE SKIP LOCKED
) AS found;
`
