/** What waited for a step that has now been seen is due; a retry keeps its time. */
export const CLOSE_GAP = /* sql */ `
UPDATE events SET due = min(due, :now)
WHERE message = :message AND state = 0 AND awaits = :step AND attempts = 0
`
