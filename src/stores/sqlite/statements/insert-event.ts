/** Admits one event whose identity is not known: waiting, or in its first attempt with the token of its lease. */
export const INSERT_EVENT = /* sql */ `
INSERT INTO events
  (id, message, ord, final, awaits, due, late, attempts, token, replay, state, admitted_at, record, raw)
VALUES (:id, :message, :ord, :final, :awaits, :due, :late, :attempts, :token, 0, 0, :now, :record, :raw)
`
