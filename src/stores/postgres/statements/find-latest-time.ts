/** The latest time that was told; 0 for none. What is a hundred years ahead of the server's was not told, and not sound. */
export const FIND_LATEST_TIME = /* sql */ `
SELECT coalesce(max(told) FILTER (WHERE is_sound), 0) AS told, count(*) = 1 AND bool_and(is_sound) AS sound
FROM (SELECT told, told BETWEEN 0 AND {now} + 3155760000000 AS is_sound FROM {schema}.latest_time) AS times
`
