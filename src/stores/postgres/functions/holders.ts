/**
 * `is_holder` says whether nobody has taken this holder for dead; 0 is nobody, whose leases end by themselves.
 *
 * `beat` shows life. Whoever was silent for `dead_after` is dead, unless nobody's beat came through for `gap` meanwhile: then all
 * are given that time anew. The first beat of a holder also releases what was leased under a name that nobody knows, as after
 * a failover that lost the latest writes. `from_turn`: leases end after it. Returns whether the holder is known, whether it is
 * alone, when the next of the others is dead (from now), and whether anything is due again.
 *
 * `leave` is for one that closes: what is still leased to it is due again.
 *
 * `release_gone` makes due what those held who are gone. The claim counted the attempt, and the next one takes the next
 * token. What somebody has locked is being settled; it is looked at with the next beat, for which a row stays half a minute:
 * longer than any statement of its holder can be under way. A beat looks at 100,000 of those that are due next, among which leases
 * are, and not at a whole backlog of retries.
 */
export const HOLDERS = /* sql */ `
CREATE OR REPLACE FUNCTION {schema}.is_holder_{set}(holder_id bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
  SELECT holder_id = 0 OR EXISTS (SELECT FROM {schema}.holders h WHERE h.id = holder_id AND h.gone_since IS NULL);
$messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.release_gone_{set}(from_turn bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $messaging_webhooks$
BEGIN
  WITH near AS MATERIALIZED (
    SELECT w.message, w.ord, w.id, w.leased, w.holder FROM {schema}.waiting w
    WHERE w.turn > from_turn ORDER BY w.turn, w.message LIMIT 100000
  ), stuck AS MATERIALIZED (
    SELECT w.message, w.ord, w.id FROM near n
      JOIN {schema}.waiting w ON w.message = n.message AND w.ord = n.ord AND w.id = n.id
    WHERE n.leased AND n.holder <> 0
      AND NOT EXISTS (SELECT FROM {schema}.holders h WHERE h.id = n.holder AND h.gone_since IS NULL)
      AND w.leased AND w.holder = n.holder
    FOR UPDATE OF w SKIP LOCKED
  )
  UPDATE {schema}.waiting w SET turn = least(w.admitted, w.due), leased = false FROM stuck
  WHERE w.message = stuck.message AND w.ord = stuck.ord AND w.id = stuck.id;
  RETURN FOUND;
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.beat_{set}(
  now_ms bigint, holder_id bigint, holder_name text, is_first boolean, dead_after bigint, gap bigint, from_turn bigint,
  OUT is_known boolean, OUT is_alone boolean, OUT next_death bigint, OUT has_released boolean
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
DECLARE
  steady_since bigint;
BEGIN
  has_released := false;
  -- A beat from far in the future is of a clock that was set back since; one from just now is of somebody who came at the same time.
  UPDATE {schema}.holders h SET beaten = now_ms,
    since = CASE WHEN now_ms - h.beaten BETWEEN -gap AND gap AND h.since <= now_ms + gap THEN h.since ELSE now_ms END
  WHERE h.id = 0 RETURNING h.since INTO steady_since;
  UPDATE {schema}.holders h SET beaten = now_ms WHERE h.id = holder_id AND h.gone_since IS NULL;
  is_known := FOUND;
  IF NOT is_known AND is_first THEN
    INSERT INTO {schema}.holders (id, name, since, beaten) VALUES (holder_id, holder_name, now_ms, now_ms) ON CONFLICT DO NOTHING;
    is_known := FOUND;
  END IF;
  IF is_known AND steady_since <= now_ms - dead_after THEN
    UPDATE {schema}.holders h SET gone_since = now_ms
    WHERE h.id NOT IN (0, holder_id) AND h.gone_since IS NULL
      AND h.beaten NOT BETWEEN now_ms - dead_after AND now_ms + dead_after;
  END IF;
  IF is_first OR EXISTS (SELECT FROM {schema}.holders h WHERE h.gone_since IS NOT NULL) THEN
    has_released := {schema}.release_gone_{set}(from_turn);
    IF NOT has_released THEN
      DELETE FROM {schema}.holders h WHERE h.gone_since IS NOT NULL AND h.gone_since NOT BETWEEN now_ms - 30000 AND now_ms + 30000;
    END IF;
  END IF;
  SELECT count(*) = 0, greatest(min(h.beaten), steady_since) + dead_after - now_ms INTO is_alone, next_death
  FROM {schema}.holders h WHERE h.id NOT IN (0, holder_id) AND h.gone_since IS NULL;
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.leave_{set}(now_ms bigint, holder_id bigint, from_turn bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
BEGIN
  UPDATE {schema}.holders h SET gone_since = now_ms WHERE h.id = holder_id AND h.gone_since IS NULL;
  RETURN {schema}.release_gone_{set}(from_turn);
END $messaging_webhooks$;
`
