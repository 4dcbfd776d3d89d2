/** A new message for an event whose own is gone. Nothing tells its key; the event's identity is nobody else's. */
export const RESTORE_MESSAGE = /* sql */ `
INSERT INTO messages (key, steps, handed, handed_open, token, lease_token, due)
SELECT id, 0, '', '', max(0, min(token, 4503599627370496)), 0, NULL FROM events WHERE seq = :seq
ON CONFLICT (key) DO NOTHING
`
