/**
 * The reports of a message whose latest state is damaged. No index has them once they are settled, so this walks through the
 * table: rather seconds, once, than an index more to write for every event.
 */
export const REPORTS = /* sql */ `
SELECT ord, final, record FROM events WHERE message = :message AND ord <> '' AND record IS NOT NULL
`
