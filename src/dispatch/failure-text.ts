/** What a handler threw, as a text that is safe to keep: handlers throw anything, and errors quote what they met. */
import { inspect } from 'node:util'

const LONGEST_TEXT = 8 * 1024

/** Never throws; at most 8 KiB; without the `secrets`. */
export function failureText(thrown: unknown, secrets: readonly string[]): string {
  let text = describe(thrown)
  for (const secret of secrets) text = text.replaceAll(secret, '[redacted]')
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}… (cut)` : text
}

function describe(thrown: unknown): string {
  try {
    if (thrown instanceof Error) {
      const { stack, message } = thrown
      // Cut before anything is done with it: a message can be as long as its author likes.
      if (typeof stack === 'string') return stack.slice(0, 2 * LONGEST_TEXT)
      if (typeof message === 'string') return message.slice(0, 2 * LONGEST_TEXT)
    }
    if (typeof thrown === 'string') return thrown.slice(0, 2 * LONGEST_TEXT)
    return inspect(thrown, { depth: 1, maxStringLength: LONGEST_TEXT, maxArrayLength: 10, breakLength: Infinity })
  } catch {
    return 'The handler threw something that cannot be described.'
  }
}
