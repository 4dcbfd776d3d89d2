/** Enters a message that was not known. */
export const INSERT_MESSAGE = /* sql */ `
INSERT INTO messages (key, steps, handed, handed_open, token, lease_token, latest, due)
VALUES (:key, 0, '', '', 0, 0, NULL, NULL)
`
