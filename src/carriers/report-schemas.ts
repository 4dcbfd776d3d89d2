/**
 * The shapes of a delivery report, a schema each, and how leniently their fields are read: the service may change a type, and
 * a field that we cannot use must not cost the event.
 */
import { z } from 'zod'

/** Text, or undefined for anything else. */
const lenientText = z.string().optional().catch(undefined)

/** A whole number, or decimal digits as text; undefined for anything else (`"١٥"`, 15.5, true). */
const lenientInteger = z
  .union([
    z.int(),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ])
  .optional()
  .catch(undefined)

/** A status word; a bare number is taken as its digits, unless it is one of several that look the same here. */
const lenientWord = z
  .union([z.string(), z.number().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER).transform(String)])
  .optional()
  .catch(undefined)

/** An id: text that is not blank, or a number, perhaps one that JavaScript cannot hold. */
const idLike = z.union([z.string().refine((text) => text.trim() !== ''), z.number()])

/**
 * The SMS delivery callback, and every other report with its fields at the top. Extras are let through unread; only a message
 * id is asked for. Contract, service.md#sms-delivery-callback.
 */
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

/** The chat-app delivery callback: its report stands in one `statuses` object. Contract, service.md#chat-app-delivery-callback. */
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
