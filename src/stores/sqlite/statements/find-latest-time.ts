/** The latest time that was told; 0 for none, or where it is damaged: a time beyond 2100 would let everything be forgotten. */
export const FIND_LATEST_TIME = /* sql */ `
SELECT CASE WHEN told BETWEEN 0 AND 4102444800000 THEN told ELSE 0 END AS told FROM latest_time
`
