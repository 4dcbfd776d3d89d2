/**
 * The schemas of delivery reports. They read fields leniently: the service may change a type, and an unusable field must not
 * lose the event.
 */
import { z } from 'zod'

/** Text, or undefined for anything else. */
const lenientText = z.string().optional().catch(undefined)

/** A whole number, also as decimal digits in text. Undefined for anything else (`"١٥"`, 15.5, true). */
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

/** A status word. A number becomes its digits, unless several numbers look the same here. */
const lenientWord = z
  .union([z.string(), z.number().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER).transform(String)])
  .optional()
  .catch(undefined)

/** An id: non-blank text, or a number, possibly one that JavaScript cannot represent exactly. */
const idLike = z.union([z.string().refine((text) => text.trim() !== ''), z.number()])

/**
 * The SMS delivery callback, and any other report with its fields at the top level. Extra fields are ignored; only a message id
 * is required. Contract, service.md#sms-delivery-callback.
 */
export const smsDeliverySchema = z.object({
  project: lenientText,
  messageId: idLike,
  channel: lenientText,
  status: lenientWord,
  /** Not in the table of this callback; "Keep the latest `statusCode` per `messageId`" suggests it. */
  statusCode: lenientInteger,
  network: lenientText,
  type: lenientText,
  timestamp: z.unknown().optional(),
  /** Where carrier B's `failed` gives its reason. */
  description: lenientText,
  status_code: lenientWord,
})

/**
 * The chat-app delivery callback, with its report in one `statuses` object. Contract, service.md#chat-app-delivery-callback.
 */
export const chatAppDeliverySchema = z.object({
  project: lenientText,
  channel: lenientText,
  phone_number: lenientText,
  /** Not in the contract's table. Used if present. */
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
