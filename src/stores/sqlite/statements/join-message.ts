/** What waits with this event belongs to the message that has its identity for a key. */
export const JOIN_MESSAGE = /* sql */ `
UPDATE events SET message = (SELECT m.rowid FROM messages AS m, events AS e WHERE e.seq = :seq AND m.key = e.id)
WHERE state = 0 AND message = (SELECT message FROM events WHERE seq = :seq)
`
