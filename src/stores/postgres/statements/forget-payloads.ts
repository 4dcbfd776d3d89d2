/**
 * Payloads of settled events whose retention (:before) is over, at most :limit: the bytes go, and the record too where the
 * message's latest state does not need it. What is not settled yet is looked at again a whole retention after :now.
 * Returns how many were forgotten.
 */
export const FORGET_PAYLOADS = /* sql */ `
WITH old AS MATERIALIZED (
  SELECT message, id, ord, final FROM {schema}.events WHERE raw IS NOT NULL AND since < :before
  ORDER BY since LIMIT :limit FOR UPDATE SKIP LOCKED
), judged AS MATERIALIZED (
  SELECT message, id,
    EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = old.message AND w.id = old.id)
      OR EXISTS (SELECT FROM {schema}.dead_letters d WHERE d.message = old.message AND d.id = old.id) AS unsettled,
    ord <> '' AND (final OR NOT EXISTS (
      SELECT FROM {schema}.events later WHERE later.message = old.message AND later.ord > old.ord
    )) AS needed
  FROM old
), emptied AS (
  UPDATE {schema}.events e SET raw = NULL, record = CASE WHEN judged.needed THEN e.record END
  FROM judged WHERE e.message = judged.message AND e.id = judged.id AND NOT judged.unsettled
), spared AS (
  UPDATE {schema}.events e SET since = :now
  FROM judged WHERE e.message = judged.message AND e.id = judged.id AND judged.unsettled
) SELECT count(*) FILTER (WHERE NOT unsettled) AS forgotten FROM judged;
`
