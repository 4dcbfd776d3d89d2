/**
 * One pass over the bytes of a JSON text, before anything parses it: how deep and how large it is, where an authKey
 * stands, and whether a name is repeated. It does not validate: `JSON.parse` does, on what this lets through.
 */

/** Where a value stands in the bytes: from `start`, up to but not including `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

interface JsonScan {
  readonly depth: number
  readonly values: number
  /** Every outermost value whose name is `authKey`, at any depth, in any spelling (`"\u0061uthKey"` too). */
  readonly authKeys: readonly Span[]
  /** A top-level name that decides something appears twice; the last one wins, as in `JSON.parse`. */
  readonly duplicateKey: boolean
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d

const AUTH_KEY = 'authKey'
/** Names that we look for: the key's, and those whose repetition changes what a callback means. */
const NAMES = [AUTH_KEY, 'messageId', 'status', 'statuses', 'project', 'timestamp'] as const
type Name = (typeof NAMES)[number]
const SHORTEST_NAME = Math.min(...NAMES.map((name) => name.length))
const LONGEST_NAME = Math.max(...NAMES.map((name) => name.length))
/** The longest of them with every character escaped; a longer one need not be decoded. */
const LONGEST_NAME_BYTES = LONGEST_NAME * 6

export function scanJson(bytes: Uint8Array): JsonScan {
  const { length } = bytes
  const hasEscapes = bytes.includes(BACKSLASH)
  const authKeys: Span[] = []
  /** A bit for each of `NAMES`. */
  let seen = 0
  let duplicateKey = false
  let depth = 0
  let deepest = 0
  let values = 0
  let coveredUntil = 0
  let index = 0
  while (index < length) {
    const byte = bytes[index]
    if (byte === QUOTE) {
      const end = endOfString(bytes, index)
      const colon = skipBlanks(bytes, end)
      if (bytes[colon] === COLON) {
        const name = plainName(bytes, index, end) ?? (hasEscapes ? escapedName(bytes, index, end) : undefined)
        if (name === AUTH_KEY) {
          const start = skipBlanks(bytes, colon + 1)
          // One inside another is covered already; looking for its end too would cost the square of the size.
          if (start >= coveredUntil) {
            coveredUntil = endOfValue(bytes, start)
            authKeys.push({ start, end: coveredUntil })
          }
        } else if (depth === 1 && name !== undefined) {
          const bit = 1 << NAMES.indexOf(name)
          if ((seen & bit) !== 0) duplicateKey = true
          seen |= bit
        }
        index = colon + 1
      } else {
        index = end
      }
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      depth += 1
      values += 1
      if (depth > deepest) deepest = depth
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      depth -= 1
    } else if (byte === COMMA) {
      values += 1
    }
    index += 1
  }
  return { depth: deepest, values, authKeys, duplicateKey }
}

/** The index behind the closing quote, or the end of the text where there is none. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let index = start + 1; index < bytes.length; index += 1) {
    const byte = bytes[index]
    if (byte === BACKSLASH) index += 1
    else if (byte === QUOTE) return index + 1
  }
  return bytes.length
}

/** The index behind a value: a string, a whole object or list, or a bare word or number. */
function endOfValue(bytes: Uint8Array, start: number): number {
  let depth = 0
  let index = start
  while (index < bytes.length) {
    const byte = bytes[index]
    if (byte === QUOTE) {
      index = endOfString(bytes, index)
      if (depth === 0) return index
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      depth -= 1
      if (depth < 0) return index
      if (depth === 0) return index + 1
    } else if (depth === 0 && byte === COMMA) return index
    index += 1
  }
  return bytes.length
}

function skipBlanks(bytes: Uint8Array, start: number): number {
  let index = start
  while (bytes[index] === 0x20 || bytes[index] === 0x0a || bytes[index] === 0x0d || bytes[index] === 0x09) index += 1
  return index
}

/** Which of the names that we look for stands between two quotes, written without escapes. */
function plainName(bytes: Uint8Array, start: number, end: number): Name | undefined {
  const size = end - start - 2
  if (size < SHORTEST_NAME || size > LONGEST_NAME) return undefined
  for (const name of NAMES) if (name.length === size && standsAt(bytes, start + 1, name)) return name
  return undefined
}

function standsAt(bytes: Uint8Array, start: number, name: Name): boolean {
  for (let index = 0; index < name.length; index += 1) if (bytes[start + index] !== name.charCodeAt(index)) return false
  return true
}

function escapedName(bytes: Uint8Array, start: number, end: number): Name | undefined {
  const size = end - start - 2
  if (size <= SHORTEST_NAME || size > LONGEST_NAME_BYTES) return undefined
  if (!bytes.subarray(start, end).includes(BACKSLASH)) return undefined
  try {
    const decoded: unknown = JSON.parse(Buffer.from(bytes.subarray(start, end)).toString('latin1'))
    return NAMES.find((name) => name === decoded)
  } catch {
    return undefined
  }
}
