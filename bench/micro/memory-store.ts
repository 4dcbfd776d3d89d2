import { memoryStore } from 'messaging-webhooks'
import type { Awaitable, MessageStore } from '../../src/inbox/store.ts'
import { openAlone } from '../database/calls.ts'

export function openedMemoryStore(): MessageStore<object> {
  return answeredAtOnce(openAlone(memoryStore()))
}

/** The memory store answers at once. */
export function answeredAtOnce<T>(answer: Awaitable<T>): T {
  if (answer instanceof Promise) throw new Error('The memory store did not answer at once.')
  return answer
}
