/**
 * What was sent stands with its message, of which no event need be there, so that whoever reads the message has read it.
 * `sent_at` is the sender's time, `overdue_at` the server's: when it will be; 0 once that was said of it; null where it had an end
 * in time. Only messages that are expected stand in the indexes, so all others are updated in place as before.
 */
export const EXPECTED = /* sql */ `
ALTER TABLE {schema}.messages ADD COLUMN sent_at bigint, ADD COLUMN overdue_at bigint, ADD COLUMN expected bytea;
CREATE INDEX messages_sent ON {schema}.messages (sent_at, id) WHERE sent_at IS NOT NULL;
CREATE INDEX messages_overdue ON {schema}.messages (overdue_at, id) WHERE overdue_at > 0;
`
