/** The SMS delivery callback, and every other report with its fields at the top. Contract, "SMS delivery callback". */
import { z } from 'zod'
import { idLike, lenientInteger, lenientText, lenientWord } from './lenient.ts'

/** Extras are let through unread; only a message id is asked for. */
export const smsDeliverySchema = z.object({
  project: lenientText,
  messageId: idLike,
  channel: lenientText,
  status: lenientWord,
  /** Not in the table of this callback; "Keep the latest `statusCode` per `messageId`" lets it be expected. */
  statusCode: lenientInteger,
  network: lenientText,
  type: lenientText,
  timestamp: z.unknown().optional(),
  /** Where carrier B's `failed` gives its reason. */
  description: lenientText,
  status_code: lenientWord,
})
