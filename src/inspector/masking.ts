/**
 * Masks answers for a reader without `reveal`. Such a reader sees the last two digits of a phone number, only the presence of
 * text from a body, and the name of an error with those words of its first line that are not in the body. A list names the
 * fields that may be shown; everything else is masked.
 */
import { SIGNATURE_HEADER } from '../public/callback.ts'
import { nextTurn, type Clock } from '../runtime/clock.ts'
import type { Rights } from './options.ts'

/** Fields that identify no person and quote no text of one. */
const PLAIN_FIELDS = wordsOf(
  'messageId message_id project network channel status statuses statusCode status_code timestamp expiration_timestamp ' +
    'sentAtMs scheduledForMs overdueAtMs event type action category currency',
)
const IDS = wordsOf('messageId message_id')

const HIDDEN = '•••'
/** The app's own data about a send. Nothing in it is shown, whatever its name. */
const META = 'meta'
/** Six or more digits, however separated, may be a phone number, even a local one. */
const PHONE = /\+?\d(?:[\s().\-/]{0,2}\d){5,}/g
const SHOWN_OF_IT = 2
const ERRORS_A_TURN = 10
/** A larger body is not parsed. Then no word that occurs anywhere in it is shown. */
const MOST_PARSED_BYTES = 16 * 1024
const LONGEST_LINE = 300
/** Any word can be decoded. Shorter runs of decoded characters occur in a body by chance. */
const LEAST_DECODED = 3
/** Common English words, which identify no one. */
const PLAIN_WORDS = wordsOf(
  'a an and at be by cannot could did does failed for from has have in is it no not of on or the to was with',
)

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

function withoutPhones(text: string): string {
  return text.replace(PHONE, (found) => HIDDEN + found.slice(-SHOWN_OF_IT))
}

/** Masks a value that identifies a person, except its end. */
function endOf(text: string): string {
  return text.length <= 2 * SHOWN_OF_IT ? HIDDEN : HIDDEN + text.slice(-SHOWN_OF_IT)
}

/** Separates the parts of the identification of an event without a message. */
export const BETWEEN = ' · '
/** The key of the body that errors in an answer may quote. It is never sent. */
export const BODY: unique symbol = Symbol('body')

/** The fields of answers that are masked for a reader without `reveal`. */
const MASKS: ReadonlyMap<string, (text: string, body: Buffer | undefined) => string> = new Map([
  ['recipient', endOf],
  ['to', endOf],
  ['about', (text: string) => text.split(BETWEEN).map(endOf).join(BETWEEN)],
  ['error', maskedError],
  ...['network', 'status', 'reason', 'from', 'campaign', 'reference'].map((name) => [name, withoutPhones] as const),
])

/** JSON of a sender or of the app, printed for every reader. No value of `meta` is plain, because its content is unknown. */
const BODIES: ReadonlyMap<string, (json: string, reveal: boolean) => string | undefined> = new Map([
  ['payload', (json: string, reveal: boolean) => printed(json, reveal)],
  ['meta', (json: string, reveal: boolean) => printed(json, reveal, META)],
  ['curl', (json: string, reveal: boolean) => curlOf(reveal ? json : printed(json, reveal))],
])

/** Masks an answer for its reader. Yields between errors, so that callbacks are not delayed. */
export async function shown<T>(answer: T, { reveal }: Rights, clock: Clock): Promise<T> {
  let errors = 0

  async function walk(value: unknown, name: string, body: Buffer | undefined): Promise<unknown> {
    if (typeof value === 'string') {
      if (BODIES.has(name)) return BODIES.get(name)?.(value, reveal)
      if (name === 'error' && (errors += 1) % ERRORS_A_TURN === 0) await nextTurn(clock)
      return reveal ? value : (MASKS.get(name)?.(value, body) ?? value)
    }
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    if (Array.isArray(value)) {
      const items: unknown[] = []
      for (const each of value) items.push(await walk(each, name, body))
      return items
    }
    const quoted = BODY in value && Buffer.isBuffer(value[BODY]) ? value[BODY] : body
    const fields: Record<string, unknown> = {}
    for (const [key, each] of Object.entries(value)) fields[key] = await walk(each, key, quoted)
    return fields
  }

  // Texts stay texts; other values stay unchanged.
  return (await walk(answer, '', undefined)) as T
}

/** Placeholders replace the authKey and the signature, which the store does not have. */
function curlOf(body: string | undefined): string | undefined {
  if (body === undefined) return undefined
  const sent = body.replace(/("authKey"\s*:\s*)"(?:[^"\\]|\\.)*"/, '$1"<authKey>"')
  return [
    "curl -X POST '<your callback URL>'",
    "-H 'content-type: application/json'",
    `-H '${SIGNATURE_HEADER}: t=<time>,v1=<signature>'`,
    `--data-binary '${sent.replaceAll("'", "'\\''")}'`,
  ].join(' \\\n  ')
}

export function firstLine(error: string): string {
  const [line = ''] = error.split('\n', 1)
  return line.slice(0, LONGEST_LINE)
}

/** `raw`: the body that the error may quote, if known. */
export function maskedError(error: string, raw: Buffer | undefined): string {
  const line = firstLine(error)
  const name = /^([A-Za-z]\w{0,63}Error)\b/.exec(line)?.[1] ?? 'Error'
  const message = line.startsWith(name) ? line.slice(name.length).replace(/^:\s*/, '') : line
  const text = raw === undefined ? HIDDEN : maskedWords(message, folded(privateTexts(raw)))
  return text === '' ? name : `${name}: ${text}`
}

/**
 * However an error quotes a text (partly, cut, escaped, encoded, in another case), each run of its letters is part of that
 * text. So a word is shown only if no run of its letters occurs in the body, it contains no long number, is not an encoding of
 * such a run, and is not a long row of capitals like a base32 secret.
 */
function maskedWords(text: string, body: string): string {
  const isQuoted = (text: string, least: number): boolean =>
    (folded(text).match(/\p{L}+|\d+/gu) ?? []).some(
      (run) => run.length >= least && !PLAIN_WORDS.has(run) && body.includes(run),
    )
  const words = text.split(/\s+/).map((word) => {
    const isPlain = /^[\x21-\x7e]{1,32}$/.test(word) && !/\d{4}|\d\D+\d|[A-Z]{16}/.test(word)
    const isShown = isPlain && !isQuoted(word, 1) && !decodings(word).some((text) => isQuoted(text, LEAST_DECODED))
    return isShown ? word : HIDDEN
  })
  return words.filter((word, index) => word !== HIDDEN || words[index - 1] !== HIDDEN).join(' ')
}

/** The texts and numbers of a body that are not plain. The whole body if it cannot be parsed. */
function privateTexts(raw: Buffer): string {
  const body = raw.toString('utf8')
  const texts: string[] = []
  try {
    if (raw.length > MOST_PARSED_BYTES) return body
    const left: (readonly [name: string, value: unknown])[] = [['', JSON.parse(body)]]
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [name, value] = next
      if (typeof value === 'object' && value !== null)
        for (const [key, each] of Object.entries(value))
          left.push([name === META || Array.isArray(value) ? name : key, each])
      else if (!PLAIN_FIELDS.has(name)) texts.push(String(value))
      else if (typeof value === 'string') texts.push(...(value.match(PHONE) ?? []))
    }
  } catch {
    return body
  }
  return texts.join('\n')
}

/** Maximum size of a body on the page. The rest can be downloaded. */
const MOST_SHOWN_BYTES = 16 * 1024
const CUT = '… (cut)'
/** Deeper values would be indented beyond that size. */
const DEEPEST_SHOWN = 128
/** Too recent for TypeScript's types. */
const { rawJSON, isRawJSON } = JSON as typeof JSON & {
  readonly rawJSON: (text: string) => unknown
  readonly isRawJSON: (value: unknown) => boolean
}

/**
 * Indented JSON without its authKey, or undefined if the text is not JSON. Numbers stay as the sender wrote them. `within`: the
 * name of the surrounding field.
 */
function printed(json: string, reveal: boolean, within = ''): string | undefined {
  function shownValue(name: string, value: unknown, depth: number): unknown {
    if (Array.isArray(value)) return depth < DEEPEST_SHOWN ? value.map((each) => shownValue(name, each, depth + 1)) : []
    if (typeof value === 'object' && value !== null && !isRawJSON(value)) {
      const fields = depth < DEEPEST_SHOWN ? Object.entries(value) : []
      return Object.fromEntries(
        fields
          .filter(([field]) => depth > 0 || field !== 'authKey')
          .map(([field, each]) => [
            reveal ? field : withoutPhones(field),
            shownValue(name === META ? name : field, each, depth + 1),
          ]),
      )
    }
    if (reveal || typeof value === 'boolean' || value === null) return value
    if (!PLAIN_FIELDS.has(name)) return HIDDEN
    // Times and codes are numbers, and an id is not a phone number, however long.
    return typeof value === 'string' && !IDS.has(name) ? withoutPhones(value) : value
  }

  try {
    // Keep the text of a number, which may be beyond JavaScript's precision.
    const parsed: unknown = JSON.parse(json, (_, value: unknown, context?: { readonly source?: string }) =>
      typeof value === 'number' && context?.source !== undefined ? rawJSON(context.source) : value,
    )
    const whole = JSON.stringify(shownValue(within, parsed, 0), undefined, 2)
    return whole.length > MOST_SHOWN_BYTES ? whole.slice(0, MOST_SHOWN_BYTES) + CUT : whole
  } catch {
    return undefined
  }
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** Decodes a word as base64 and base32, from each possible offset, because it may be cut. */
function decodings(word: string): readonly string[] {
  const in64 = word.replaceAll('-', '+').replaceAll('_', '/')
  const runs = [
    ...(in64.match(/[A-Za-z0-9+/]{4,}/g) ?? []).map((run) => bitsOf(run, BASE64)),
    ...(word.toLowerCase().match(/[a-z2-7]{5,}/g) ?? []).map((run) => bitsOf(run, BASE32)),
  ]
  return runs.flatMap((bits) =>
    [0, 1, 2, 3, 4, 5, 6, 7].map((start) => {
      const bytes = bits.slice(start).match(/.{8}/g) ?? []
      return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))).toString('utf8')
    }),
  )
}

function bitsOf(run: string, digits: string): string {
  return run.replace(/./g, (digit) => digits.indexOf(digit).toString(2).padStart(Math.log2(digits.length), '0'))
}

/** Removes accents and case, which other programs may have changed. A sharp s becomes `ss`. */
function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase()
}
