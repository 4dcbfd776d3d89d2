/** What decides whether an event of a message is late, and whether somebody holds the message. */
export const MESSAGE_OF_EVENT = /* sql */ `
SELECT handed, handed_open, lease_token <> 0 AS held FROM messages WHERE rowid = :message
`
