/**
 * Who has the store open. A lease names its holder, so that what a dead one held need not wait for its lease to end.
 *
 * Number 0 is everybody together: since when anybody's beats have come through without a gap, and the last one.
 *
 * Each holder changes its row every other second, in place. No index tells who holds an event: it would be entered and left
 * with every event, and is asked for only when somebody has died. Leases end in the future, so `waiting_turn` has them among
 * little else.
 */
export const HOLDERS = /* sql */ `
CREATE TABLE {schema}.holders (
  id bigint PRIMARY KEY,
  name text NOT NULL,
  -- Milliseconds of the server's clock: it came, and last showed life.
  since bigint NOT NULL,
  beaten bigint NOT NULL,
  -- Others have taken it for dead, or it has left. A claim of its own may still be under way, so the row stays for a while.
  gone_since bigint
) WITH (fillfactor = 50);

-- Whoever may use the other tables may use this one.
DO $messaging_webhooks$
DECLARE
  made oid;
  g record;
BEGIN
  INSERT INTO {schema}.holders (id, name, since, beaten) VALUES (0, '', 0, 0) RETURNING tableoid INTO made;
  FOR g IN
    SELECT n.nspname, a.privilege_type,
      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_catalog.pg_class h JOIN pg_catalog.pg_namespace n ON n.oid = h.relnamespace
      JOIN pg_catalog.pg_class w ON w.relnamespace = n.oid AND w.relname = 'waiting'
      CROSS JOIN LATERAL aclexplode(w.relacl) a
    WHERE h.oid = made AND a.grantee <> w.relowner AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
  LOOP
    EXECUTE format('GRANT %s ON %I.holders TO %s', g.privilege_type, g.nspname, g.grantee);
  END LOOP;
END $messaging_webhooks$;

-- Of the last lease; 0 for one that names nobody.
ALTER TABLE {schema}.waiting ADD COLUMN holder bigint NOT NULL DEFAULT 0;
`
