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

/** Each number once, as it is written first. */
export function distinctNumbers(numbers: readonly string[]): readonly string[] {
  const byDigits = new Map<string, string>()
  for (const number of numbers) if (!byDigits.has(comparable(number))) byDigits.set(comparable(number), number)
  return [...byDigits.values()]
}

/** The digits of a number in its national form, with at least this many, identify it among those of one request. */
const MIN_NATIONAL_DIGITS = 6

/**
 * Finds the number of a request that an entry of its answer names. The service may write it in its national form, without the
 * country code and with a zero before it, or omit it if there is a single number.
 */
export function createNumberMatch(asked: readonly string[]): (answered: string | undefined) => string | undefined {
  const numbers = distinctNumbers(asked)
  const only = numbers.length === 1 ? numbers[0] : undefined
  const byDigits = new Map(numbers.map((number) => [comparable(number), number]))
  const lastDigitsOf = (digits: string): string => digits.slice(-MIN_NATIONAL_DIGITS)
  const byLastDigits = Map.groupBy(byDigits.keys(), lastDigitsOf)
  return (answered = '') => {
    if (only !== undefined) return only
    const exact = byDigits.get(comparable(answered))
    if (exact !== undefined) return exact
    const national = comparable(answered).replace(/^0+/, '')
    if (national.length < MIN_NATIONAL_DIGITS) return undefined
    const [found, ...others] = (byLastDigits.get(lastDigitsOf(national)) ?? []).filter((each) =>
      each.endsWith(national),
    )
    return found === undefined || others.length > 0 ? undefined : byDigits.get(found)
  }
}
