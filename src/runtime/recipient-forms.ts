/** One number is written in several ways: with a plus or without, and with marks between its digits. */

/** What people put between the digits of a number, and around a name. */
const BETWEEN_DIGITS = /[\s().\-/\u00a0\u2010-\u2015]/g

/** A number as its digits from the country's code on; anything else in small letters. */
export function comparable(text: string): string {
  const digits = text.replace(BETWEEN_DIGITS, '').replace(/^(?:\+|00)/, '')
  return /^\d+$/.test(digits) ? digits : text.trim().normalize('NFC').toLowerCase()
}

/** What somebody wrote, first as it is; and of a number the forms in which senders and carriers give it. */
export function formsOf(text: string): readonly string[] {
  const digits = comparable(text)
  return /^\d+$/.test(digits) ? [...new Set([text, digits, `+${digits}`])] : [text]
}
