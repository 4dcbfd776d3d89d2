/** Sends that were begun, as the store has them: under a key of their own, beside the entries of their answers. */
import { defined } from '../runtime/defined.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { isBegun, listedAt, type Expectation } from '../messages/expected.ts'
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
    const { project, reference, sendKey, sentAtMs, listedAtMs } = expectation
    const kept = defined({ sentAtMs, project, reference, sendKey, listedAtMs })
    return { messageKey, expectation: { recipients: 0, ...kept } }
  })
  await store.awaitNoMore(ended, nowMs)
}

/** Tells sends apart whose entries stand in one millisecond of the list. */
export function sendOf({ project, reference, sendKey }: Expectation): string {
  return sendKey ?? JSON.stringify([project, reference])
}

/**
 * Those of these sends, which all stand in one millisecond, of whose answer every entry was written down: each entry says how many there
 * are, and they stand where their send does.
 */
export async function answeredAmong<T extends EndedExpectation>(
  store: OpenStore<object>,
  sends: readonly T[],
): Promise<readonly T[]> {
  const [first] = sends
  if (first === undefined) return []
  const fromMs = listedAt(first.expectation)
  const missing = new Map<string, number>()
  let after: string | undefined
  do {
    const page = await store.expectations?.({ after, limit: A_STEP, fromMs, toMs: fromMs + 1 })
    for (const { expectation } of page?.items ?? []) {
      if (isBegun(expectation) || expectation.reference === undefined) continue
      const send = sendOf(expectation)
      missing.set(send, (missing.get(send) ?? expectation.answered ?? 0) - 1)
    }
    after = page?.next
  } while (after !== undefined)
  return sends.filter(({ expectation }) => (missing.get(sendOf(expectation)) ?? 1) <= 0)
}
