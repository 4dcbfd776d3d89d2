/** Dead letters whose retention (:before) is over become settled ones; at most :limit. Returns how many. */
export const FORGET_DEAD = /* sql */ `
WITH old AS (
  DELETE FROM {schema}.dead_letters
  WHERE seq IN (
    SELECT seq FROM {schema}.dead_letters WHERE ended_at < :before
    ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED
  ) RETURNING message, id, ended_at
), settled AS (
  UPDATE {schema}.events e SET since = old.ended_at FROM old WHERE e.message = old.message AND e.id = old.id
) SELECT count(*) AS forgotten FROM old;
`
