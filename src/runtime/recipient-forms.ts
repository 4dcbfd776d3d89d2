/** The forms of a telephone number: with or without a plus, and with separators. */

/** Separators between the digits of a number. */
const BETWEEN_DIGITS = /[\s().\-/\u00a0\u2010-\u2015]/g

/** A number as its digits from the country code on. Anything else in lower case. */
export function comparable(text: string): string {
  const digits = text.replace(BETWEEN_DIGITS, '').replace(/^(?:\+|00)/, '')
  return /^\d+$/.test(digits) ? digits : text.trim().normalize('NFC').toLowerCase()
}

/** The given text first, then the forms of a number that senders and carriers use. */
export function formsOf(text: string): readonly string[] {
  const digits = comparable(text)
  return /^\d+$/.test(digits) ? [...new Set([text, digits, `+${digits}`])] : [text]
}
