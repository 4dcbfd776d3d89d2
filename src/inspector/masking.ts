/**
 * The texts of an answer for its reader. Without `reveal`, a reader sees the last two digits of a number, and no text or body
 * of a sender, of the app or of an error, except the class of the error.
 */
import { SIGNATURE_HEADER } from '../public/callback.ts'
import type { Rights } from './options.ts'

const HIDDEN = '•••'
const SHOWN_OF_IT = 2
/** Six or more digits, however separated, may be a phone number, even a local one. */
const PHONE = /\+?\d(?:[\s().\-/]{0,2}\d){5,}/g

/** Separates the parts of the identification of an event without a message. */
export const BETWEEN = ' · '

type Show = (text: string) => string | undefined

/** By name, the fields that are printed for a reader with `reveal`: JSON of a sender or of the app. */
const REVEALED = new Map<string, Show>([
  ['payload', printed],
  ['meta', printed],
  ['curl', curlOf],
])

/** By name, the fields that a reader without `reveal` sees in part or not at all. */
const UNREVEALED = new Map<string, Show>([
  ['recipient', endOf],
  ['to', endOf],
  ['about', (text: string) => text.split(BETWEEN).map(endOf).join(BETWEEN)],
  ['error', errorClass],
  ...['payload', 'meta', 'curl', 'reason'].map((name) => [name, () => undefined] as const),
  ...['network', 'status', 'campaign', 'reference'].map((name) => [name, withoutPhones] as const),
])

export function shown<T>(answer: T, { reveal }: Rights): T {
  const rules = reveal ? REVEALED : UNREVEALED

  function walk(value: unknown, name: string): unknown {
    if (typeof value === 'string') return rules.has(name) ? rules.get(name)?.(value) : value
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    if (Array.isArray(value)) return value.map((each) => walk(each, name))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, key)]))
  }

  // Texts stay texts or are left out, where answers have optional fields; other values stay unchanged.
  return walk(answer, '') as T
}

function withoutPhones(text: string): string {
  return text.replace(PHONE, (found) => HIDDEN + found.slice(-SHOWN_OF_IT))
}

/** Masks a value that identifies a person, except its end. */
function endOf(text: string): string {
  return text.length <= 2 * SHOWN_OF_IT ? HIDDEN : HIDDEN + text.slice(-SHOWN_OF_IT)
}

export function errorClass(error: string): string {
  return /^([A-Za-z]\w{0,63}Error)\b/.exec(error)?.[1] ?? 'Error'
}

/** Placeholders replace the authKey and the signature, which the store does not have. */
function curlOf(body: string): string {
  const sent = body.replace(/("authKey"\s*:\s*)"(?:[^"\\]|\\.)*"/, '$1"<authKey>"')
  return [
    "curl -X POST '<your callback URL>'",
    "-H 'content-type: application/json'",
    `-H '${SIGNATURE_HEADER}: t=<time>,v1=<signature>'`,
    `--data-binary '${sent.replaceAll("'", "'\\''")}'`,
  ].join(' \\\n  ')
}

/** Maximum size of a body on the page. The rest can be downloaded. */
const MAX_SHOWN_BYTES = 16 * 1024
const CUT = '… (cut)'
/** Deeper values would be indented beyond that size. */
const DEEPEST_SHOWN = 128
/** Too recent for TypeScript's types. */
const { rawJSON, isRawJSON } = JSON as typeof JSON & {
  readonly rawJSON: (text: string) => unknown
  readonly isRawJSON: (value: unknown) => boolean
}

/** Indented JSON without its authKey, or undefined if the text is not JSON. Numbers stay as the sender wrote them. */
function printed(json: string): string | undefined {
  function shownValue(value: unknown, depth: number): unknown {
    if (typeof value !== 'object' || value === null || isRawJSON(value)) return value
    if (Array.isArray(value)) return depth < DEEPEST_SHOWN ? value.map((each) => shownValue(each, depth + 1)) : []
    const fields = depth < DEEPEST_SHOWN ? Object.entries(value) : []
    return Object.fromEntries(
      fields
        .filter(([field]) => depth > 0 || field !== 'authKey')
        .map(([field, each]) => [field, shownValue(each, depth + 1)]),
    )
  }

  try {
    // Keep the text of a number, which may be beyond JavaScript's precision.
    const parsed: unknown = JSON.parse(json, (_, value: unknown, context?: { readonly source?: string }) =>
      typeof value === 'number' && context?.source !== undefined ? rawJSON(context.source) : value,
    )
    const whole = JSON.stringify(shownValue(parsed, 0), undefined, 2)
    return whole.length > MAX_SHOWN_BYTES ? whole.slice(0, MAX_SHOWN_BYTES) + CUT : whole
  } catch {
    return undefined
  }
}
