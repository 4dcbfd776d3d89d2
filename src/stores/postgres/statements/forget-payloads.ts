/**
 * Payloads of settled events whose retention (:before) is over, at most :limit: the bytes go, and the record too where the
 * message's latest state does not need it. Returns how many.
 */
export const FORGET_PAYLOADS = /* sql */ `
WITH old AS (
  UPDATE {schema}.events SET state = 3
  WHERE seq IN (
    SELECT seq FROM {schema}.events WHERE state = 1 AND ended_at < :before
    ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED
  ) RETURNING seq, message, ord, final
), judged AS MATERIALIZED (
  SELECT seq, ord <> '' AND (final OR NOT EXISTS (
    SELECT FROM {schema}.events later WHERE later.message = old.message AND later.ord > old.ord
  )) AS needed FROM old
), dropped AS (
  DELETE FROM {schema}.bodies b USING judged WHERE b.seq = judged.seq AND NOT judged.needed
), emptied AS (
  UPDATE {schema}.bodies b SET raw = NULL FROM judged WHERE b.seq = judged.seq AND judged.needed
) SELECT count(*) AS forgotten FROM old;
`
