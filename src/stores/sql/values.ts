/** Values in the text of statements. They are written as ASCII, whatever the encoding of the connection. */

/** ASCII is half as long as hexadecimal digits. Excludes backslashes, which may escape, and control characters. */
const PLAIN = /^[ -[\]-~]*$/

/** Bounds of `bigint`. The least is one more than fits: Postgres reads the digits before the sign. */
export const LARGEST = '9223372036854775807'
export const LEAST = '-9223372036854775807'

/** Whether each character is one byte, the same in every encoding, which needs no escape but for quotes. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text)
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** The hexadecimal digits of a digest, which need no escape. */
export function hexIn(digest: string): string {
  if (!/^[0-9a-f]*$/.test(digest) || digest.length % 2 !== 0)
    throw new TypeError('A digest contains characters other than hexadecimal digits.')
  return digest
}

export function numberValue(number: number): string {
  const whole = Math.ceil(number)
  if (!Number.isSafeInteger(whole)) throw new TypeError('A number for the database is not a safe integer.')
  return String(whole)
}

/** A time that may be infinite. */
export function timeValue(ms: number): string {
  return numberValue(Math.min(Math.max(ms, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER))
}

export function orNull<T>(value: T | undefined, written: (value: T) => string): string {
  return value === undefined ? 'NULL' : written(value)
}
