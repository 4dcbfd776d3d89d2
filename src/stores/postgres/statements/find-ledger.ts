/** Whether a schema has our ledger, and which tables of our names it has. :schema is its name in UTF-8, in hexadecimal. */
export const FIND_LEDGER = /* sql */ `
SELECT count(*) FILTER (WHERE c.relname = 'messaging_webhooks_migrations') > 0 AS ledger,
  string_agg(c.relname, ', ' ORDER BY c.relname) FILTER (WHERE c.relname <> 'messaging_webhooks_migrations') AS tables
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = convert_from(decode(:schema, 'hex'), 'UTF8')
  AND c.relname IN ('messaging_webhooks_migrations', 'messages', 'events', 'waiting', 'dead_letters', 'latest_time')
`
