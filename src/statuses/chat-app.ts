/** The chat-app channel's words. Contract, "Chat-app delivery callback", `statuses.status`. */
import type { Meaning } from './status-codes.ts'

export const CHAT_APP: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['sent', { type: 'message.sent' }],
  ['delivered', { type: 'message.delivered' }],
  ['read', { type: 'message.read' }],
  ['failed', { type: 'message.failed', failure: { kind: 'permanent', resend: false } }],
])
