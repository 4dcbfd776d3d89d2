/** Sends that were begun, as the store has them: under a key of their own, beside the entries of their answers. */
import { defined } from '../defined.ts'
import { MessagingWebhooksError } from '../errors.ts'
import { isBegun, listedAt, type Expectation } from '../inbox/expected.ts'
import type { EndedExpectation, OpenStore } from '../inbox/store.ts'
import { expectationOf } from './expectation-of.ts'

/** Looked at in one step. */
const A_STEP = 500

/** What is kept of a send; undefined where none was begun under this key. */
export async function findBegun(store: OpenStore<object>, messageKey: string): Promise<Expectation | undefined> {
  const found = await expectationOf(store, messageKey)
  return found !== undefined && isBegun(found.expectation) ? found.expectation : undefined
}

/**
 * It is known what came of them: the reference stays known, and nothing of a person is kept with it. Of the message that a send
 * repeated nothing more is awaited.
 */
export async function endBegun(
  store: OpenStore<object>,
  begun: readonly EndedExpectation[],
  nowMs: number,
): Promise<void> {
  if (store.awaitNoMore === undefined) throw new MessagingWebhooksError('expect_unsupported')
  const repeated: EndedExpectation[] = []
  for (const { expectation } of begun) {
    const { previousKey: messageKey } = expectation
    const previous = messageKey === undefined ? undefined : await expectationOf(store, messageKey)
    if (messageKey !== undefined && previous !== undefined)
      repeated.push({ messageKey, expectation: { ...previous.expectation, repeated: true } })
  }
  // First, so that whoever ends the send later does this, too.
  if (repeated.length > 0) await store.awaitNoMore(repeated, nowMs)
  const ended = begun.map(({ messageKey, expectation }): EndedExpectation => {
    const { project, reference, sentAtMs, listedAtMs } = expectation
    return { messageKey, expectation: { recipients: 0, ...defined({ sentAtMs, project, reference, listedAtMs }) } }
  })
  await store.awaitNoMore(ended, nowMs)
}

/** Tells sends apart whose entries stand in one millisecond of the list. */
export function sendOf({ project, reference }: Expectation): string {
  return JSON.stringify([project, reference])
}

/** Whether all entries of its answer were written down: each says how many there are, and they stand where the send does. */
export async function isAnswered(store: OpenStore<object>, begun: Expectation): Promise<boolean> {
  const fromMs = listedAt(begun)
  let written = 0
  let answered: number | undefined
  let after: string | undefined
  do {
    const page = await store.expectations?.({ after, limit: A_STEP, fromMs, toMs: fromMs + 1 })
    for (const { expectation } of page?.items ?? []) {
      if (isBegun(expectation) || sendOf(expectation) !== sendOf(begun)) continue
      written += 1
      answered = expectation.answered ?? 0
    }
    after = page?.next
  } while (after !== undefined)
  return answered !== undefined && written >= answered
}
