/** It is so late, by a caller's clock ($1); another process may have seen a later time. */
export const TELL_TIME = /* sql */ `
WITH told AS (
  UPDATE {schema}.latest_time
  SET told = CASE WHEN told > {now} + 3155760000000 THEN $1::bigint ELSE greatest(told, $1::bigint) END RETURNING 1
)
INSERT INTO {schema}.latest_time SELECT $1::bigint WHERE NOT EXISTS (SELECT FROM told)
`
