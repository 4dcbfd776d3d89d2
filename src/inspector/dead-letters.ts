/** Dead letters: listed with what handlers threw, run again, or given up. */
import { z } from 'zod'
import type { DeadLetters } from '../dispatch/dead-letters.ts'
import type { StoredDeadLetter, StoredEvent } from '../inbox/store.ts'
import type { Inside } from './inside.ts'
import { shownRecipient } from './masking.ts'
import { limitIn, textIn } from './queries.ts'
import type { Rights } from './rights.ts'
import { rowOf, shownError } from './rows.ts'
import type { DeadLetterList, DeadLetterResult, EventRow } from './shapes.ts'

const A_PAGE = 50
const MOST_A_PAGE = 200
const MOST_AT_ONCE = 500
const MASKED_A_TURN = 10

export const CHANGES = ['replay', 'force', 'discard'] as const
type Change = (typeof CHANGES)[number]

export const idsSchema = z.strictObject({ ids: z.array(z.string().min(1).max(128)).min(1).max(MOST_AT_ONCE) })

/** GET api/dead-letters. */
export async function listDeadLetters(query: URLSearchParams, rights: Rights, inside: Inside): Promise<DeadLetterList> {
  const { items, next } = await inside.deadLetters({
    after: textIn(query, 'after'),
    limit: limitIn(query, A_PAGE, MOST_A_PAGE),
  })
  const shown: DeadLetterList['items'][number][] = []
  for (const letter of items) {
    // Masking takes its time, and callbacks are not to wait for all of it.
    if (shown.length % MASKED_A_TURN === MASKED_A_TURN - 1)
      await new Promise<void>((resolve) => inside.clock.soon(resolve))
    shown.push({
      event: { ...recipientOf(letter, rights), ...rowOf(asStored(letter), inside, rights) },
      attempts: letter.attempts,
      error: shownError(letter.error, letter.raw, rights) ?? '',
      diedAt: new Date(letter.diedAtMs).toISOString(),
    })
  }
  return { items: shown, ...(next !== undefined && { next }) }
}

/** Reports of most channels do not name it; what was told of the send does. */
function recipientOf({ expected }: StoredDeadLetter, rights: Rights): Pick<EventRow, 'recipient'> {
  const to = expected?.expectation.to
  return to === undefined ? {} : { recipient: shownRecipient(to, rights) }
}

function asStored({ id, attempts, error, diedAtMs, record, raw }: StoredDeadLetter): StoredEvent {
  return {
    id,
    state: 'dead',
    atMs: record.receivedAtMs,
    late: undefined,
    attempts,
    admittedAtMs: undefined,
    dueMs: undefined,
    endedAtMs: diedAtMs,
    error,
    order: undefined,
    record,
    raw,
  }
}

/** POST api/dead-letters/replay, force and discard: one after the other, so that no store is held up. */
export async function changeDeadLetters(
  deadLetters: Pick<DeadLetters, 'replay' | 'discard'>,
  change: Change,
  ids: readonly string[],
): Promise<DeadLetterResult> {
  const done: string[] = []
  const missing: string[] = []
  for (const id of new Set(ids)) {
    const found =
      change === 'discard' ? await deadLetters.discard(id) : await deadLetters.replay(id, { force: change === 'force' })
    if (found) done.push(id)
    else missing.push(id)
  }
  return { done, missing }
}
