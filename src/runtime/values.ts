/** Type guards for untyped values, decoding of bytes, and objects by name. */

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Whether a thrown value is an error of any realm: in Jest, errors of Node and errors of this code differ in realm. Inspecting
 * a thrown value may throw.
 */
export function isError(thrown: unknown): thrown is Error {
  try {
    if (typeof thrown !== 'object') return false
    return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]'
  } catch {
    return false
  }
}

/** Throws if a getter of `then` throws. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Prevents an unhandled rejection if the value is a promise. */
export function letReject(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  try {
    // Throws unless the value is a native promise, of any realm, and ignores methods that it overrides.
    void Promise.prototype.then.call(value, undefined, () => {})
  } catch {
    // Not a promise.
  }
}

/** Decodes bytes without a byte order mark. Invalid UTF-8 becomes U+FFFD. */
export function textOf(bytes: Buffer, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return bytes.toString(encoding, hasMark ? 3 : 0)
}

/** An object with a value for each name. */
export function recordOf<K extends string, V>(names: readonly K[], make: (name: K) => V): Record<K, V> {
  // `fromEntries` widens the names to string.
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, V>
}

/** The names in a constant table, in order. */
export function keysOf<K extends string>(table: Readonly<Record<K, unknown>>): readonly K[] {
  // A constant object has no other keys.
  return Object.keys(table) as K[]
}
