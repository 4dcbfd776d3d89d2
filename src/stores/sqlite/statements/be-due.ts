/** An event whose time was absurd is due now. */
export const BE_DUE = /* sql */ `
UPDATE events SET due = :now WHERE seq = :seq AND due > :latest
`
