/** Describes a thrown value in text that is safe to store and log. Any value can be thrown, and errors quote their input. */
import { inspect } from 'node:util'
import { isOurs } from '../public/errors.ts'
import { isError } from './values.ts'

const LONGEST_TEXT = 8 * 1024
/** Appended to a text that was cut. */
const CUT_END = '… (cut)'
const LONGEST_LINE = 500
/** Maximum depth of causes. */
const MAX_CAUSES = 3
/** Maximum number of errors shown of an AggregateError. */
const MAX_OF_MANY = 3

/** Passwords in a URL or in parameters. Each length is bounded, because a hostile text could make matching slow. */
const PASSWORDS: readonly RegExp[] = [
  /(:\/\/[^\s:@/]{0,256}:)[^\s"'/?#]{1,256}(?=@)/g,
  /(\b(?:password|authKey|signingSecret)=)[^\s&"';]{1,256}/gi,
]

/** Shorter or plainer secrets occur in paths and words by accident. Masking them would make texts unreadable. */
const SHORTEST_MASKED = 8
const MIN_VARIETY = 5

/** Whether a secret is too short or too plain to be masked in texts. */
export function isWeakSecret(secret: string): boolean {
  return secret.length < SHORTEST_MASKED || new Set(secret).size < MIN_VARIETY
}

/** Includes the stack and the causes, and masks the `secrets`. Never throws. At most 8 KiB, or `longest` characters. */
export function failureText(thrown: unknown, secrets: readonly string[], longest = LONGEST_TEXT): string {
  return cut(masked(describe(thrown, 'stack'), secrets), longest)
}

/** One line without the stack, at most 500 characters. */
export function failureLine(thrown: unknown, secrets: readonly string[]): string {
  const text = masked(describe(thrown, 'line'), secrets)
  // Bound the work before replacing. The slice is long enough for the line.
  return cut(text.slice(0, LONGEST_TEXT).replace(/\s+/g, ' ').trim(), LONGEST_LINE)
}

/** A name that the sender chose, without these secrets. */
export function withoutSecrets(name: string, secrets: readonly string[]): string {
  const present = secrets.filter((secret) => name.includes(secret))
  return present.length === 0 ? name : masked(name, present)
}

/** Masks before a cut, because half a secret is not recognised; the longest first, because a secret may start with another. */
function masked(given: string, secrets: readonly string[]): string {
  let text = given
  const masked = secrets.filter((secret) => !isWeakSecret(secret)).sort((a, b) => b.length - a.length)
  for (const secret of masked) text = text.replaceAll(secret, '[redacted]')
  for (const password of PASSWORDS) text = text.replace(password, '$1[redacted]')
  return text
}

function cut(text: string, longest: number): string {
  return text.length > longest ? text.slice(0, longest) + CUT_END : text
}

function describe(thrown: unknown, how: 'stack' | 'line', depth = 0): string {
  try {
    if (!isError(thrown)) return describeOther(thrown)
    const causes = depth < MAX_CAUSES ? causesOf(thrown) : []
    if (how === 'line' && isOurs(thrown)) {
      // An error of this package only wraps its cause.
      const [cause] = causes
      return cause === undefined ? `${thrown.message} (${thrown.code})` : describe(cause, how, depth + 1)
    }
    const text = describeError(thrown, how)
    return [text, ...causes.map((cause) => `Caused by: ${describe(cause, how, depth + 1)}`)].join('\n')
  } catch {
    return 'The thrown value cannot be described.'
  }
}

/** Replaces the first line of the stack: the name and message may have changed since the error was created. */
function describeError(error: Error, how: 'stack' | 'line'): string {
  const { stack, message } = error
  if (typeof message !== 'string') return typeof stack === 'string' ? stack : describeOther(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const coded = code === '' || message.includes(code) ? message : `${message} (${code})`
  const head = coded === '' ? nameOf(error) : `${nameOf(error)}: ${coded}`
  if (how === 'line' || typeof stack !== 'string') return head
  const calls = stack.indexOf('\n    at ')
  if (calls !== -1) return head + stack.slice(calls)
  return stack.includes(message) ? stack : `${head}\n${stack}`
}

/** Many error classes do not set their name. */
function nameOf(error: Error): string {
  const { name } = error
  if (typeof name === 'string' && name !== 'Error') return name
  const { name: className } = error.constructor
  return typeof className === 'string' && className !== '' ? className : 'Error'
}

function causesOf(error: Error): readonly unknown[] {
  const cause = error.cause === undefined ? [] : [error.cause]
  return error instanceof AggregateError && Array.isArray(error.errors)
    ? [...cause, ...(error.errors as unknown[]).slice(0, MAX_OF_MANY)]
    : cause
}

function describeOther(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  return inspect(thrown, { depth: 1, maxStringLength: LONGEST_TEXT, maxArrayLength: 10, breakLength: Infinity })
}
