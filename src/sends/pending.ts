/**
 * Recorded sends in the store: the pending ones have a key of their own, beside the entries of their answers. And the synthetic
 * events: a message is overdue, or the outcome of a send is unknown.
 */
import { defined } from '../runtime/values.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { isPendingSend, isUsedReference, listedAt, encodeExpectation, type Expectation } from '../messages/expected.ts'
import { everyPage } from '../inbox/lists.ts'
import type { EndedExpectation, OpenStore, StoredExpectation, NewEvent } from '../inbox/store.ts'
import { NO_PLACE, overdueIdentity, unknownSendIdentity } from '../messages/order.ts'

const A_STEP = 500

/** Undefined if nothing is recorded under this key of a message or send, or if the store keeps no expectations. */
export async function expectationOf(
  store: OpenStore<object>,
  messageKey: string,
): Promise<StoredExpectation | undefined> {
  const page = { after: undefined, limit: 1, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, messageKey }
  return (await store.expectations?.(page))?.items[0]
}

export async function findPendingSend(store: OpenStore<object>, messageKey: string): Promise<Expectation | undefined> {
  const expectation = (await expectationOf(store, messageKey))?.expectation
  return expectation !== undefined && isPendingSend(expectation) && !isUsedReference(expectation)
    ? expectation
    : undefined
}

/** Completes sends: keeps their references and nothing personal. No further report of a repeated message is expected. */
export async function endPendingSends(
  store: OpenStore<object>,
  pending: readonly RecordedSend[],
  nowMs: number,
): Promise<void> {
  if (store.awaitNoMore === undefined) throw new MessagingWebhooksError('expect_unsupported')
  const repeated: EndedExpectation[] = []
  for (const { expectation } of pending) {
    const { previousKey: messageKey } = expectation
    const previous = messageKey === undefined ? undefined : await expectationOf(store, messageKey)
    if (messageKey !== undefined && previous !== undefined)
      repeated.push({ messageKey, expectation: { ...previous.expectation, repeated: true } })
  }
  // Before the send itself: if this fails, the send is still pending, and its later completion does this again.
  if (repeated.length > 0) await store.awaitNoMore(repeated, nowMs)
  const ended = pending.map(({ messageKey, expectation }): EndedExpectation => {
    const { project, reference, sendKey, sentAtMs, listedAtMs, numbers } = expectation
    const kept = defined({ sentAtMs, project, reference, sendKey, listedAtMs, numbers })
    return { messageKey, expectation: { recipients: 0, ...kept } }
  })
  await store.awaitNoMore(ended, nowMs)
}

/** Distinguishes sends with entries in one millisecond. */
export function sendOf({ project, reference, sendKey }: Expectation): string {
  return sendKey ?? JSON.stringify([project, reference])
}

/**
 * Selects the sends with completely recorded answers. The sends are all of one millisecond. Each entry of an answer is listed
 * with its send and states the number of entries.
 */
export async function answeredAmong<T extends RecordedSend>(
  store: OpenStore<object>,
  sends: readonly T[],
): Promise<readonly T[]> {
  const [first] = sends
  if (first === undefined) return []
  const fromMs = listedAt(first.expectation)
  const missing = new Map<string, number>()
  const pages = everyPage(async (after) => {
    return (await store.expectations?.({ after, limit: A_STEP, fromMs, toMs: fromMs + 1 })) ?? { items: [] }
  })
  for await (const { items } of pages)
    for (const { expectation } of items) {
      if (isPendingSend(expectation) || expectation.reference === undefined) continue
      const send = sendOf(expectation)
      missing.set(send, (missing.get(send) ?? expectation.answered ?? 0) - 1)
    }
  return sends.filter(({ expectation }) => (missing.get(sendOf(expectation)) ?? 1) <= 0)
}

/** A send, or a message of one, with its key in the store. */
export interface RecordedSend {
  readonly messageKey: string
  readonly expectation: Expectation
}

export function overdueEvent(sent: RecordedSend, nowMs: number): NewEvent {
  const { overdueAtMs = nowMs } = sent.expectation
  // The clock of a shared store may be some milliseconds ahead of this process.
  const foundMs = Math.max(nowMs, overdueAtMs)
  return made('overdue', sent, { id: overdueIdentity(sent.messageKey), atMs: overdueAtMs, nowMs: foundMs })
}

export function unknownSendEvent(sent: RecordedSend, nowMs: number): NewEvent {
  const id = unknownSendIdentity(sent.messageKey, sent.expectation.sentAtMs)
  return made('unknownSend', sent, { id, atMs: nowMs, nowMs })
}

function made(
  what: 'overdue' | 'unknownSend',
  { messageKey, expectation }: RecordedSend,
  { id, atMs, nowMs }: { readonly id: string; readonly atMs: number; readonly nowMs: number },
): NewEvent {
  const { numbers: _, ...described } = expectation
  return {
    id,
    messageKey,
    ...NO_PLACE,
    gapUntilMs: nowMs,
    record: {
      project: expectation.project,
      kind: 'status',
      timestamp: Math.floor(atMs / 1_000),
      timestampSource: 'clock',
      receivedAtMs: nowMs,
      proof: 'none',
      [what]: true,
    },
    raw: encodeExpectation(described),
  }
}
