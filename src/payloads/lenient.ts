/** How fields are read: the service may change a type, and a field that we cannot use must not cost the event. */
import { z } from 'zod'

/** Text, or undefined for anything else. */
export const lenientText = z.string().optional().catch(undefined)

/** A whole number, or decimal digits as text; undefined for anything else (`"١٥"`, 15.5, true). */
export const lenientInteger = z
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
export const lenientWord = z
  .union([z.string(), z.number().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER).transform(String)])
  .optional()
  .catch(undefined)

/** An id: text that is not blank, or a number. See `readId` for numbers that JavaScript cannot hold. */
export const idLike = z.union([z.string().refine((text) => text.trim() !== ''), z.number()])
