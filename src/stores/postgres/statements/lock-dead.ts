/** Locks the message of a dead letter by the :id (hex) of that. */
export const LOCK_DEAD = /* sql */ `
SELECT count(*) AS locked FROM (
  SELECT id FROM {schema}.messages
  WHERE id = (SELECT message FROM {schema}.dead_letters WHERE id = decode(:id, 'hex') LIMIT 1) FOR UPDATE
) AS found;
`
