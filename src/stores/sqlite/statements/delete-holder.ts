/** Nothing is looked for under this name any more. */
export const DELETE_HOLDER = /* sql */ `
DELETE FROM holders WHERE holder = :holder
`
