/** The chat-app channel's words. Contract, service.md#chat-app-delivery-callback, `statuses.status`. */
import { permanent, type Meaning } from './meaning.ts'

export const CHAT_APP: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['sent', { type: 'message.sent' }],
  ['delivered', { type: 'message.delivered' }],
  ['read', { type: 'message.read' }],
  ['failed', permanent('failed')],
])
