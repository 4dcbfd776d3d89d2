/** What a handler threw, as a text that is safe to keep: handlers throw anything, and errors quote what they met. */
import { inspect } from 'node:util'

const LONGEST_TEXT = 8 * 1024

/** Never throws; at most 8 KiB; without the `secrets`. */
export function failureText(thrown: unknown, secrets: readonly string[]): string {
  let text = describe(thrown)
  // Before it is cut, for half a secret is not found; and the longest first, for one may begin as another.
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) text = text.replaceAll(secret, '[redacted]')
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}… (cut)` : text
}

function describe(thrown: unknown): string {
  try {
    if (thrown instanceof Error) {
      const { stack, message } = thrown
      if (typeof stack === 'string') return stack
      if (typeof message === 'string') return message
    }
    if (typeof thrown === 'string') return thrown
    return inspect(thrown, { depth: 1, maxStringLength: LONGEST_TEXT, maxArrayLength: 10, breakLength: Infinity })
  } catch {
    return 'The handler threw something that cannot be described.'
  }
}
