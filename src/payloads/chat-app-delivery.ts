/** The chat-app delivery callback: its report stands in one `statuses` object. Contract, "Chat-app delivery callback". */
import { z } from 'zod'
import { idLike, lenientInteger, lenientText, lenientWord } from './lenient.ts'

export const chatAppDeliverySchema = z.object({
  project: lenientText,
  channel: lenientText,
  phone_number: lenientText,
  /** Not in the contract's table; used where it is there all the same. */
  timestamp: z.unknown().optional(),
  statusCode: lenientInteger,
  statuses: z.object({
    recipient: lenientText,
    message_id: idLike,
    status: lenientWord,
    type: lenientText,
    conversation_id: lenientText,
    expiration_timestamp: lenientInteger,
    category: lenientText,
    error: lenientText,
  }),
})
