/** Reads one expectation by the key of its message or send. */
import type { OpenStore, StoredExpectation } from '../inbox/store.ts'

/** Undefined if there is none, or if the store keeps no expectations. */
export async function expectationOf(
  store: OpenStore<object>,
  messageKey: string,
): Promise<StoredExpectation | undefined> {
  const page = { after: undefined, limit: 1, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, messageKey }
  return (await store.expectations?.(page))?.items[0]
}
