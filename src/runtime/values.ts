/** Type guards for untyped values, decoding of bytes and JSON, objects by name, and a Map for members with high turnover. */

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

/** Continues with a value, at once or later. A store in memory answers at once, which keeps promises off its path. */
export function andThen<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
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

/** Undefined if the text is not JSON. The error of a parser would quote it. */
export function parsedJson(text: string, reviver?: (name: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(text, reviver)
  } catch {
    return undefined
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

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** A copy without undefined fields. */
export function defined<T extends object>(given: T): Defined<T> {
  const fields = Object.entries(given).filter(([, value]) => value !== undefined)
  // The filter guarantees this type.
  return Object.fromEntries(fields) as Defined<T>
}

/**
 * A Map for members with high turnover. V8 rehashes a plain Map into new tables, and an old table keeps the next one alive,
 * with every member that passed through, until a full garbage collection. A new Map after some hundred removals ends that
 * chain: a member costs half the CPU (0.4 to 0.5 µs instead of 0.9, with up to 128 others), and the heap stays below 25 MiB
 * instead of 80 to 160 (`node bench/micro/containers.ts`).
 */
export interface ChurningMap<K, V> {
  /** Replaced periodically, which ends the chain of its tables. */
  members: Map<K, V>
  removed: number
}

const REMOVED_AT_LEAST = 256

export function churningMap<K, V>(): ChurningMap<K, V> {
  return { members: new Map(), removed: 0 }
}

export function removeMember<K, V>(map: ChurningMap<K, V>, key: K): void {
  if (!map.members.delete(key)) return
  map.removed += 1
  if (map.removed < REMOVED_AT_LEAST || map.removed < map.members.size) return
  map.members = new Map(map.members)
  map.removed = 0
}

/** The system's error code, for example ENOSPC. */
export function systemCode(error: unknown): string | undefined {
  return isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
