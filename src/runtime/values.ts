/** What a value is where no type says so: a record, an error, or a promise of somebody's function; and bytes as text. */

/** Whether a value is an object with fields: no list, and not null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Whether what was thrown is an error, of any realm: in a test of Jest, Node's own errors are of another one than this code. What
 * was thrown may be anything, and throw when it is asked.
 */
export function isError(thrown: unknown): thrown is Error {
  try {
    if (typeof thrown !== 'object') return false
    return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]'
  } catch {
    return false
  }
}

/** Whether `await` would wait for it. Throws what a getter of it throws. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Nobody waits for it: if it is a promise, that it rejects must not end the process. */
export function letReject(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  try {
    // Refuses all but real promises, of any realm, whatever methods of its own one may have.
    void Promise.prototype.then.call(value, undefined, () => {})
  } catch {
    // It is none.
  }
}

/** Text of the bytes without a byte order mark; what is not UTF-8 becomes U+FFFD. */
export function textOf(bytes: Buffer, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return bytes.toString(encoding, hasMark ? 3 : 0)
}
