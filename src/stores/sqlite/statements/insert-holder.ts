/** Enters a store that is open under the name of its folder. */
export const INSERT_HOLDER = /* sql */ `
INSERT INTO holders (name) VALUES (:name)
`
