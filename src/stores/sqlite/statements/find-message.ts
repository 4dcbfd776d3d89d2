/** A message by its key. */
import { cut } from './cut.ts'

export const FIND_MESSAGE = /* sql */ `
SELECT rowid, steps & 255 AS steps, handed, handed_open, ${cut('token')} AS token, lease_token <> 0 AS held, latest,
  due IS NULL AS idle
FROM messages WHERE key = :key
`
