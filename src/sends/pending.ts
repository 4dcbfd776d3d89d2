/**
 * Recorded sends in the store: the pending ones have a key of their own, beside the entries of their answers. And the synthetic
 * events: a message is overdue, or the outcome of a send is unknown.
 */
import { defined } from '../runtime/values.ts'
import { isPendingSend, isUsedReference, listedAt, encodeExpectation, type Expectation } from '../messages/expected.ts'
import { everyPage } from '../inbox/lists.ts'
import type { MessageStore } from '../inbox/store.ts'
import { sendIn, type StoredExpectation } from '../messages/views.ts'
import type { NewEvent } from '../messages/event-record.ts'
import { NO_PLACE, overdueIdentity, unknownSendIdentity } from '../messages/order.ts'

const A_STEP = 500

/** Undefined if nothing is recorded under this key of a message or send. */
export async function findSend(store: MessageStore<object>, key: string): Promise<StoredExpectation | undefined> {
  const [record] = await store.run([{ do: 'read', key }])
  return record && sendIn(key, record)
}

export async function findPendingSend(store: MessageStore<object>, key: string): Promise<Expectation | undefined> {
  const expectation = (await findSend(store, key))?.expectation
  return expectation !== undefined && isPendingSend(expectation) && !isUsedReference(expectation)
    ? expectation
    : undefined
}

/** Completes sends: keeps their references and nothing personal. No further report of a repeated message is expected. */
export async function endPendingSends(store: MessageStore<object>, pending: readonly RecordedSend[]): Promise<void> {
  const repeated: { readonly do: 'endSend'; readonly key: string; readonly rest: Expectation }[] = []
  for (const { expectation } of pending) {
    const { previousKey: key } = expectation
    const previous = key === undefined ? undefined : await findSend(store, key)
    if (key !== undefined && previous !== undefined)
      repeated.push({ do: 'endSend', key, rest: { ...previous.expectation, repeatedAtMs: listedAt(expectation) } })
  }
  // Before the send itself: if this fails, the send is still pending, and its later completion does this again.
  if (repeated.length > 0) await store.run(repeated)
  await store.run(
    pending.map(({ messageKey: key, expectation }) => {
      const { project, reference, sendKey, sentAtMs, listedAtMs, numbers } = expectation
      const kept = defined({ sentAtMs, project, reference, sendKey, listedAtMs, numbers })
      return { do: 'endSend' as const, key, rest: { recipients: 0, ...kept } }
    }),
  )
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
  store: MessageStore<object>,
  sends: readonly T[],
): Promise<readonly T[]> {
  const [first] = sends
  if (first === undefined) return []
  const fromMs = listedAt(first.expectation)
  const missing = new Map<string, number>()
  const pages = everyPage(async (after) => store.scan({ of: 'sends', after, limit: A_STEP, fromMs, toMs: fromMs + 1 }))
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
    reorderWaitMs: 0,
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
