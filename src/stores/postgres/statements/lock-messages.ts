/** Locks messages by their :keys (hex), in the order in which an admission does. */
export const LOCK_MESSAGES = /* sql */ `
SELECT count(*) AS locked FROM (
  SELECT id FROM {schema}.messages WHERE key IN (SELECT decode(hex, 'hex') FROM unnest(:keys::text[]) AS hex)
  ORDER BY key FOR UPDATE
) AS found;
`
