/** How many migrations the schema has. */
export const FIND_VERSION = /* sql */ `
SELECT coalesce(max(version), 0) AS version FROM {schema}.messaging_webhooks_migrations
`
