/** Of the locked messages: those of which no event is left. */
export const FORGET_MESSAGES = /* sql */ `
DELETE FROM {schema}.messages m
WHERE id = ANY (string_to_array(current_setting('messaging_webhooks.locked'), ',')::bigint[])
  AND NOT EXISTS (SELECT FROM {schema}.events e WHERE e.message = m.id);
`
