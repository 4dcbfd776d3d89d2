import { memoryStore } from 'messaging-webhooks'
import { conformance } from '../conformance.ts'

const { capabilities } = memoryStore()

conformance({
  makeStore: () => ({ store: memoryStore() }),
  capabilities,
  interleavings: 300,
})
