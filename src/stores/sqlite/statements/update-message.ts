/** Writes what an admission changed: the steps seen and the latest state. */
export const UPDATE_MESSAGE = /* sql */ `
UPDATE messages SET steps = :steps, latest = :latest WHERE rowid = :message
`
