/** The attempts at an event: those that this process saw, and of the others what the store knows. */
import type { StoredEvent } from '../inbox/store.ts'
import type { Rights } from './rights.ts'
import { shownError } from './rows.ts'
import type { AttemptRow } from './shapes.ts'
import type { Watcher } from './watch.ts'

/** More than the largest number of attempts that anybody sets. */
const MOST_SHOWN = 100

export function attemptsOf(stored: StoredEvent, watcher: Watcher, rights: Rights): readonly AttemptRow[] {
  const { id, raw, state, attempts = 0, error } = stored
  const seen = watcher.attemptsOf(id).map((row) => shownAttempt(row, raw, rights))
  // A replay counts anew.
  const isCounted = !seen.some(({ replay }) => replay)
  const numbers = new Set(seen.map(({ number }) => number))
  const unseen: AttemptRow[] = []
  for (let number = 1; isCounted && number <= Math.min(attempts, MOST_SHOWN); number += 1) {
    if (numbers.has(number)) continue
    const isLast = number === attempts
    // A settled event may be a dead letter that somebody has discarded.
    const outcome = !isLast ? 'failed' : state === 'leased' ? 'running' : state === 'settled' ? 'settled' : 'failed'
    const text = isLast ? shownError(error, raw, rights) : undefined
    unseen.push({ number, outcome, handlers: [], ...(text !== undefined && { error: text }) })
  }
  return isCounted ? [...seen, ...unseen].sort((a, b) => a.number - b.number) : seen
}

function shownAttempt(row: AttemptRow, raw: Buffer | undefined, rights: Rights): AttemptRow {
  const { error, handlers, ...rest } = row
  const text = shownError(error, raw, rights)
  return {
    ...rest,
    ...(text !== undefined && { error: text }),
    handlers: handlers.map(({ error: thrown, ...handler }) => {
      const shown = shownError(thrown, raw, rights)
      return { ...handler, ...(shown !== undefined && { error: shown }) }
    }),
  }
}
