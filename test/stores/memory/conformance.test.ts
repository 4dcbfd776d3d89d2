import { memoryStore } from 'messaging-webhooks'
import { conformance } from '../conformance.ts'

const { capabilities } = memoryStore()

conformance({
  makeStore: () => ({ store: memoryStore() }),
  capabilities,
  leavesOut: ['retention'],
  interleavings: 300,
})
