/** Dead letters whose retention (:before) is over become settled ones; at most :limit. Returns how many. */
export const FORGET_DEAD = /* sql */ `
WITH old AS (
  UPDATE {schema}.events SET state = 1
  WHERE seq IN (
    SELECT seq FROM {schema}.events WHERE state = 2 AND ended_at < :before
    ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED
  ) RETURNING seq
) SELECT count(*) AS forgotten FROM old;
`
