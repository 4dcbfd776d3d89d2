/** One expectation, by the key of its message or of its send. */
import type { OpenStore, StoredExpectation } from '../inbox/store.ts'

/** What is kept of it; undefined where nothing is, or the store keeps nothing of the kind. */
export async function expectationOf(
  store: OpenStore<object>,
  messageKey: string,
): Promise<StoredExpectation | undefined> {
  const page = { after: undefined, limit: 1, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, messageKey }
  return (await store.expectations?.(page))?.items[0]
}
