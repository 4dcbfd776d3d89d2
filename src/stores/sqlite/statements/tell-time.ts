/** It is so late; another process may have seen a later time. One that is damaged (see FIND_LATEST_TIME) counts for nothing. */
export const TELL_TIME = /* sql */ `
UPDATE latest_time SET told = CASE WHEN told BETWEEN 0 AND 4102444800000 THEN max(told, :now) ELSE :now END
`
