/** Remembers, for the next start, how late it was: the machine's clock may be set back before it. */
import type { DatabaseSync } from 'node:sqlite'
import { prepare } from './prepare.ts'
import { integer } from './row.ts'
import { BEGIN_TIME } from './statements/begin-time.ts'
import { FIND_LATEST_TIME } from './statements/find-latest-time.ts'
import { TELL_TIME } from './statements/tell-time.ts'

/** So that not every transaction writes a page more. */
const TELL_EVERY_MS = 1_000

interface LatestTime {
  /** What was told before this opening. */
  readonly atOpening: number | undefined
  /** Called in every transaction that writes. */
  tell(nowMs: number): void
}

export function createLatestTime(db: DatabaseSync): LatestTime {
  const tellTime = prepare(db, TELL_TIME)
  const row = prepare(db, FIND_LATEST_TIME).get()
  if (row === undefined) prepare(db, BEGIN_TIME).run()
  let told = row === undefined ? 0 : integer(row, 'told')
  return {
    atOpening: told === 0 ? undefined : told,
    tell(nowMs) {
      if (nowMs < told + TELL_EVERY_MS) return
      tellTime.run({ now: nowMs })
      told = nowMs
    },
  }
}
