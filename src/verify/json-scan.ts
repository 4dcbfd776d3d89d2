/**
 * One pass over JSON bytes before they are parsed: measures depth and size, finds authKeys, and detects repeated names. It does
 * not validate; `JSON.parse` does that afterwards.
 */

/** The position of a value: from `start` up to, but not including, `end`. */
export interface Span {
  readonly start: number
  readonly end: number
  /** Whether the value ends there. Otherwise the bytes do. */
  readonly isClosed: boolean
}

interface JsonScan {
  readonly depth: number
  readonly values: number
  /** Every outermost value named `authKey`, at any depth and in any spelling (`"\u0061uthKey"` too). */
  readonly authKeys: readonly Span[]
  /** A significant top-level name appears twice. The last one wins, as in `JSON.parse`. */
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
const BLANKS: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d])

const AUTH_KEY = 'authKey'
/** The names to look for: the key, and those whose repetition changes the meaning of a callback. */
const NAMES = [AUTH_KEY, 'messageId', 'status', 'statuses', 'project', 'timestamp'] as const
type Name = (typeof NAMES)[number]
const SHORTEST_NAME = Math.min(...NAMES.map((name) => name.length))
/** The longest name with every character escaped. Longer strings, and shorter ones than any name, need not be decoded. */
const LONGEST_NAME_BYTES = Math.max(...NAMES.map((name) => name.length)) * 6
/** No two names share both their first byte and their length, which rules out most other names at once. */
const NAME_BY_SHAPE: ReadonlyMap<number, Name> = new Map(
  NAMES.map((name) => [name.length * 256 + name.charCodeAt(0), name]),
)

export function scanJson(bytes: Uint8Array): JsonScan {
  const { length } = bytes
  const authKeys: Span[] = []
  /** One bit for each of `NAMES`. */
  let seen = 0
  let duplicateKey = false
  let depth = 0
  let deepest = 0
  let values = 0
  /** The last string, without its quotes. Before a colon it is a name. */
  let from = 0
  let to = 0
  let hasEscapes = false
  /** Start and depth of the authKey value that is still open. -1 for none. */
  let keyStart = -1
  let keyDepth = 0
  for (let index = 0; index < length; index += 1) {
    /** The end of a value that closes at this byte. -1 if none does. */
    let end = -1
    switch (bytes[index]) {
      case QUOTE:
        from = index + 1
        hasEscapes = false
        for (index = from; index < length && bytes[index] !== QUOTE; index += 1) {
          if (bytes[index] !== BACKSLASH) continue
          hasEscapes = true
          index += 1
        }
        to = index
        end = index + 1
        break
      case COLON: {
        let name = hasEscapes ? escapedName(bytes, from, to) : NAME_BY_SHAPE.get((to - from) * 256 + (bytes[from] ?? 0))
        for (let at = 1; !hasEscapes && name !== undefined && at < name.length; at += 1)
          if (bytes[from + at] !== name.charCodeAt(at)) name = undefined
        // A string names one value, even if several colons follow.
        to = from
        hasEscapes = false
        if (name === undefined) break
        if (name !== AUTH_KEY) {
          const bit = depth === 1 ? 1 << NAMES.indexOf(name) : 0
          if ((seen & bit) !== 0) duplicateKey = true
          seen |= bit
        } else if (keyStart === -1) {
          keyStart = index + 1
          while (BLANKS.has(bytes[keyStart])) keyStart += 1
          keyDepth = depth
        }
        break
      }
      case OPEN_OBJECT:
      case OPEN_LIST:
        depth += 1
        values += 1
        if (depth > deepest) deepest = depth
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth -= 1
        end = depth < keyDepth ? index : index + 1
        break
      case COMMA:
        values += 1
        end = index
    }
    if (end === -1 || keyStart === -1 || depth > keyDepth) continue
    authKeys.push({ start: keyStart, end: Math.min(end, length), isClosed: end <= length })
    keyStart = -1
  }
  if (keyStart !== -1) authKeys.push({ start: keyStart, end: length, isClosed: false })
  return { depth: deepest, values, authKeys, duplicateKey }
}

/** `from` is the first byte of the string, `to` its closing quote. */
function escapedName(bytes: Uint8Array, from: number, to: number): Name | undefined {
  if (to - from < SHORTEST_NAME || to - from > LONGEST_NAME_BYTES) return undefined
  try {
    const decoded: unknown = JSON.parse(`"${Buffer.from(bytes.subarray(from, to)).toString('latin1')}"`)
    return NAMES.find((name) => name === decoded)
  } catch {
    return undefined
  }
}
