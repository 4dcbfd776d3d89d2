/** Messages of which no event is left; a bounded step through the table, from :after on. */
export const FORGET_MESSAGES = /* sql */ `
DELETE FROM messages
WHERE rowid IN (SELECT rowid FROM messages WHERE rowid > :after ORDER BY rowid LIMIT :limit)
  AND due IS NULL AND NOT EXISTS (SELECT 1 FROM events WHERE events.message = messages.rowid)
`
