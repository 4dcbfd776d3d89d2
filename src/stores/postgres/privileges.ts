/** Reads the role's privileges from the catalogs, and builds the statements that grant missing ones. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import { isNull, type Row } from '../sql/rows.ts'
import type { Connections } from './connections.ts'
import { hexOf, text, truth } from './encoding.ts'
import { fill, quoteName } from './sql-text.ts'

/** Reads no table, so it needs no privilege. :schema is the name of the schema in UTF-8, in hexadecimal. */
const FIND_PRIVILEGES = /* sql */ `
WITH place AS (
  SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = convert_from(decode(:schema, 'hex'), 'UTF8')
), ours AS (
  SELECT c.oid, c.relname, wanted.at, wanted.privileges
  FROM (VALUES
    (1, 'messaging_webhooks_migrations', ARRAY['SELECT']),
    (2, 'records', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']),
    (3, 'due', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']),
    (4, 'payloads', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']),
    (5, 'dead_letters', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']),
    (6, 'workers', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'])
  ) AS wanted (at, name, privileges)
  JOIN pg_catalog.pg_class c ON c.relname = wanted.name AND c.relnamespace = (SELECT oid FROM place)
)
SELECT current_user::text AS role, current_database()::text AS database,
  has_database_privilege(current_database(), 'CREATE') AS creates_schemas,
  EXISTS (SELECT FROM place) AS has_schema,
  coalesce(has_schema_privilege((SELECT oid FROM place), 'USAGE'), true) AS uses_schema,
  coalesce(has_schema_privilege((SELECT oid FROM place), 'CREATE'), true) AS creates_tables,
  EXISTS (SELECT FROM ours WHERE relname = 'messaging_webhooks_migrations') AS has_ledger,
  coalesce((SELECT has_table_privilege(oid, 'SELECT') FROM ours WHERE relname = 'messaging_webhooks_migrations'), true) AS reads_ledger,
  (SELECT string_agg(lacking.those || ' on ' || relname, ', ' ORDER BY at) FROM ours CROSS JOIN LATERAL (
    SELECT string_agg(privilege, ', ' ORDER BY nth) AS those FROM unnest(privileges) WITH ORDINALITY AS p (privilege, nth)
    WHERE NOT has_table_privilege(ours.oid, privilege)
  ) AS lacking WHERE lacking.those IS NOT NULL) AS tables
`

interface Lack {
  readonly what: string
  readonly grant: string
}

interface Privileges {
  /** An error if the role cannot read the ledger. Undefined for a schema without one. */
  readonly unreadable: MessagingWebhooksError | undefined
  /** An error if a privilege is missing that the operations need. */
  readonly forbidden: MessagingWebhooksError | undefined
  /** The missing privileges for creating or changing tables. Empty if that is unknown. */
  readonly toMigrate: string
}

export async function readPrivileges(query: Connections['query'], schema: string): Promise<Privileges> {
  const [row] = await query(fill(FIND_PRIVILEGES, { schema: hexOf(schema) }))
  if (row === undefined) throw new TypeError('The catalogs of the database returned no row for the privileges.')
  const toUse = truth(row, 'has_ledger') ? lacksToUse(row, schema) : []
  const forbidden = toUse.length === 0 ? undefined : new MessagingWebhooksError('store_forbidden', describe(row, toUse))
  const isReadable = truth(row, 'uses_schema') && truth(row, 'reads_ledger')
  return { forbidden, unreadable: isReadable ? undefined : forbidden, toMigrate: describeMigrating(row, schema) }
}

function lacksToUse(row: Row, schema: string): readonly Lack[] {
  const [place, role] = [quoteName(schema), quoteName(text(row, 'role'))]
  const lacks: Lack[] = []
  if (!truth(row, 'uses_schema'))
    lacks.push({ what: `USAGE on the schema ${place}`, grant: `GRANT USAGE ON SCHEMA ${place} TO ${role};` })
  if (!isNull(row, 'tables'))
    lacks.push({
      what: text(row, 'tables'),
      grant: `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${place} TO ${role};`,
    })
  return lacks
}

function describeMigrating(row: Row, schema: string): string {
  const [place, role] = [quoteName(schema), quoteName(text(row, 'role'))]
  const database = quoteName(text(row, 'database'))
  if (!truth(row, 'has_schema')) {
    if (truth(row, 'creates_schemas')) return ''
    const grant = `GRANT CREATE ON DATABASE ${database} TO ${role};`
    return describe(row, [{ what: `CREATE on the database ${database}`, grant }])
  }
  const needed = [
    ...(truth(row, 'creates_tables') ? [] : ['CREATE']),
    ...(truth(row, 'uses_schema') ? [] : ['USAGE']),
  ].join(', ')
  if (needed === '') return ''
  return describe(row, [
    { what: `${needed} on the schema ${place}`, grant: `GRANT ${needed} ON SCHEMA ${place} TO ${role};` },
  ])
}

function describe(row: Row, lacks: readonly Lack[]): string {
  const what = lacks.map((lack) => lack.what).join('; ')
  const grants = lacks.map(({ grant }) => grant).join(' ')
  return `The role ${quoteName(text(row, 'role'))} lacks ${what}. Grant it by: ${grants}`
}
