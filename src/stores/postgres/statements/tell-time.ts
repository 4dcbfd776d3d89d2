/** It is so late, by a caller's clock ($1); another process may have seen a later time. */
export const TELL_TIME = /* sql */ `
UPDATE {schema}.latest_time SET told = greatest(told, $1::bigint)
`
