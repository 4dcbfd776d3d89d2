/** What says that it was settled in more than a day from :now would be kept for ever; at most :limit. Returns how many. */
export const MEND_SINCE = /* sql */ `
WITH ahead AS (
  UPDATE {schema}.events SET since = :now WHERE ctid = ANY (ARRAY(
    (SELECT ctid FROM {schema}.events WHERE raw IS NOT NULL AND since > :now + 86400000 ORDER BY since DESC LIMIT :limit)
    UNION ALL
    (SELECT ctid FROM {schema}.events WHERE raw IS NULL AND since > :now + 86400000 ORDER BY since DESC LIMIT :limit)
  )) RETURNING 1
) SELECT count(*) AS mended FROM ahead;
`
