/** Where the quarantine is written down: where the user says, else beside what the store could not take. */
import { join } from 'node:path'

interface Named {
  /** The option `quarantine.folder`. */
  readonly folder: string | false | undefined
  /** The option `spool`. */
  readonly spool: string | false | undefined
  /** Where the store has a place for it. */
  readonly besideStore: string | undefined
}

/** Undefined for memory only. Without a spool it is beside the store all the same: a restart must not lose it. */
export function quarantineFolder({ folder, spool, besideStore }: Named): string | undefined {
  if (folder === false) return undefined
  const beside = typeof spool === 'string' ? spool : besideStore
  return folder ?? (beside === undefined ? undefined : join(beside, 'quarantine'))
}
