import { memoryStore } from 'messaging-webhooks'
import type { Awaitable, OpenStore } from '../../src/inbox/store.ts'

export function openedMemoryStore(): OpenStore<object> {
  return answered(memoryStore().open({ onWork: () => {} }))
}

/** The memory store answers at once. */
export function answered<T>(answer: Awaitable<T>): T {
  if (answer instanceof Promise) throw new Error('The memory store did not answer at once.')
  return answer
}
