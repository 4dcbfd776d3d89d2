import { memoryStore } from 'messaging-webhooks'
import type { OpenStore } from '../../src/inbox/store.ts'

/** It answers at once. */
export function openedMemoryStore(): OpenStore<object> {
  const opened = memoryStore().open({ onWork: () => {} })
  if (opened instanceof Promise) throw new Error('The memory store did not open at once.')
  return opened
}
