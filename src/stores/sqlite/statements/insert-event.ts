/** Admits one event. `INSERT OR IGNORE` on the unique identity: no row changed means a duplicate. */
export const INSERT_EVENT = /* sql */ `
INSERT INTO events
  (id, message, ord, final, awaits, due, late, attempts, token, replay, state, admitted_at, record, raw)
VALUES (:id, :message, :ord, :final, :awaits, :due, :late, 0, 0, 0, 0, :now, :record, :raw)
`
