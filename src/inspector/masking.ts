/**
 * What a reader without `reveal` gets: of a phone number its last two digits, of a text from a body that it is there, of an error its
 * name and those words of its first line that do not come from the body. A list names what may be shown; all else is masked.
 */
import { SIGNATURE_HEADER } from '../public/callback.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Rights } from './options.ts'

/** Fields that name no person and quote no text of one. */
const PLAIN_FIELDS: ReadonlySet<string> = new Set([
  'messageId',
  'message_id',
  'project',
  'network',
  'channel',
  'status',
  'statuses',
  'statusCode',
  'status_code',
  'timestamp',
  'expiration_timestamp',
  'sentAtMs',
  'scheduledForMs',
  'overdueAtMs',
  'event',
  'type',
  'action',
  'category',
  'currency',
])

const IDS: ReadonlySet<string> = new Set(['messageId', 'message_id'])

/** What stands in the place of what may not be shown. */
const HIDDEN = '•••'
/** The app's own words about what it sent: nothing in it is plain, whatever it is called. */
const META = 'meta'
/** So many digits may be a phone number, also a local one, whatever stands between them. */
const PHONE = /\+?\d(?:[\s().\-/]{0,2}\d){5,}/g
const SHOWN_OF_IT = 2
const ERRORS_A_TURN = 10
/** A larger body is not parsed: then no word that stands anywhere in it is shown. */
const MOST_PARSED_BYTES = 16 * 1024
const LONGEST_HEAD = 200
/** Any word can be decoded: shorter runs of what comes out stand in a body by chance. */
const LEAST_DECODED = 3
const BASE64 = /[\w+/-]{4,}/g
const BASE32 = /[a-z2-7]{5,}/gi
const BASE32_DIGITS = 'abcdefghijklmnopqrstuvwxyz234567'
/** They are of the language, and of nobody. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(
  'a an and at be by cannot could did does failed for from has have in is it no not of on or the to was with'.split(
    ' ',
  ),
)

/** A text with the phone numbers in it masked. */
function withoutPhones(text: string): string {
  return text.replace(PHONE, (found) => HIDDEN + found.slice(-SHOWN_OF_IT))
}

/** Of what is known to name somebody: the end of it. */
function endOf(text: string): string {
  return text.length <= 2 * SHOWN_OF_IT ? HIDDEN : HIDDEN + text.slice(-SHOWN_OF_IT)
}

/** Stands between the parts of what identifies an event without a message. */
export const BETWEEN = ' · '
/** Under it stands, in an answer, the body that the errors in it may quote; it is never sent. */
export const BODY: unique symbol = Symbol('body')

/** The fields of the server's answers that a reader without `reveal` gets masked. */
const MASKS: ReadonlyMap<string, (text: string, body: Buffer | undefined) => string> = new Map([
  ['recipient', endOf],
  ['to', endOf],
  ['about', (text: string) => text.split(BETWEEN).map(endOf).join(BETWEEN)],
  ['error', maskedError],
  ...['network', 'status', 'reason', 'campaign', 'reference'].map((name) => [name, withoutPhones] as const),
])

/** Those that are JSON of a sender or of the app, printed for every reader. Of `meta` no value is plain: nobody here knows it. */
const BODIES: ReadonlyMap<string, (json: string, reveal: boolean) => string | undefined> = new Map([
  ['payload', (json: string, reveal: boolean) => printed(json, reveal)],
  ['meta', (json: string, reveal: boolean) => printed(json, reveal, META)],
  ['curl', (json: string, reveal: boolean) => curlOf(reveal ? json : printed(json, reveal))],
])

/** An answer as its reader may see it. Callbacks go through while many errors are masked. */
export async function shown<T>(answer: T, { reveal }: Rights, clock: Clock): Promise<T> {
  let errors = 0

  async function walk(value: unknown, name: string, body: Buffer | undefined): Promise<unknown> {
    if (typeof value === 'string') {
      if (BODIES.has(name)) return BODIES.get(name)?.(value, reveal)
      if (name === 'error' && (errors += 1) % ERRORS_A_TURN === 0)
        await new Promise<void>((resolve) => clock.soon(resolve))
      return reveal ? value : (MASKS.get(name)?.(value, body) ?? value)
    }
    if (typeof value !== 'object' || value === null) return value
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

  // Texts stay texts, and all else stays as it is.
  return (await walk(answer, '', undefined)) as T
}

/** Neither key is kept: placeholders stand for both. */
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

/** A value of a body. */
function maskedValue(name: string, text: string, isString: boolean): string {
  if (!PLAIN_FIELDS.has(name)) return HIDDEN
  // Times and codes are numbers; an id is no phone number, however long it is.
  return !isString || IDS.has(name) ? text : withoutPhones(text)
}

/** `raw`: the body that it may quote; undefined where it is not known. */
export function maskedError(error: string, raw: Buffer | undefined): string {
  const [head = ''] = error.split('\n', 1)
  const name = /^([A-Za-z]\w{0,63}Error)\b/.exec(head)?.[1] ?? 'Error'
  const said = head.startsWith(name) ? head.slice(name.length).replace(/^:\s*/, '') : head
  const text = raw === undefined ? HIDDEN : maskedWords(said.slice(0, LONGEST_HEAD), folded(privateTexts(raw)))
  return text === '' ? name : `${name}: ${text}`
}

/**
 * However an error quotes a text (a part of it, cut, escaped, encoded, in other letters), each run of letters in it is a part of that
 * text. So a word is shown only if no run of its letters stands in the body, it has no longer number, is no encoding of such a run, and
 * is no long row of capitals, as secrets in base32 are.
 */
function maskedWords(said: string, body: string): string {
  const isQuoted = (text: string, least: number): boolean =>
    (folded(text).match(/\p{L}+|\d+/gu) ?? []).some(
      (run) => run.length >= least && !PLAIN_WORDS.has(run) && body.includes(run),
    )
  const words = said.split(/\s+/).map((word) => {
    const isPlain = /^[\x21-\x7e]{1,32}$/.test(word) && !/\d{4}|\d\D+\d|[A-Z]{16}/.test(word)
    const isShown = isPlain && !isQuoted(word, 1) && !decodings(word).some((text) => isQuoted(text, LEAST_DECODED))
    return isShown ? word : HIDDEN
  })
  return words.filter((word, index) => word !== HIDDEN || words[index - 1] !== HIDDEN).join(' ')
}

/** What a word says as base64 or base32, from each of the places where a letter may begin: it may be cut. */
function decodings(word: string): readonly string[] {
  return [
    ...(word.match(BASE64) ?? []).flatMap((text) =>
      [0, 1, 2, 3].map((cut) => Buffer.from(text.slice(cut), 'base64').toString('utf8')),
    ),
    ...(word.match(BASE32) ?? []).flatMap(fromBase32),
  ]
}

function fromBase32(text: string): readonly string[] {
  const bits = text.toLowerCase().replace(/./g, (digit) => BASE32_DIGITS.indexOf(digit).toString(2).padStart(5, '0'))
  return [0, 1, 2, 3, 4, 5, 6, 7].map((cut) => {
    const bytes = bits.slice(cut).match(/.{8}/g) ?? []
    return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))).toString('utf8')
  })
}

/** Without accents and case, as other programs may have written it: a sharp s is two. */
function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase()
}

/** The texts and numbers of a body that are not plain; all of it where it cannot be read. */
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

/** So much of a body is shown; the rest can be downloaded. */
const MOST_SHOWN_BYTES = 16 * 1024
const CUT = '… (cut)'
/** What is deeper stands behind so much indentation that it would be cut. */
const DEEPEST_SHOWN = 128
const STRING_OR_NUMBER = /"((?:[^"\\]|\\.)*")|-?\d[\d.eE+-]*/gs
/** Of these days, and not in TypeScript's types yet. */
const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown }

/**
 * Indented JSON, or undefined where it is none, without its authKey. Each number stays as the sender wrote it, however long. `within`:
 * the name of the field that it stands in.
 */
function printed(json: string, reveal: boolean, within = ''): string | undefined {
  function printedValue(name: string, value: unknown, depth: number): unknown {
    if (typeof value === 'string') {
      const text = value.slice(1)
      const isString = value.startsWith('s')
      const masked = reveal ? text : maskedValue(name, text, isString)
      return isString || masked !== text ? masked : rawJSON(text)
    }
    if (Array.isArray(value))
      return depth < DEEPEST_SHOWN ? value.map((each) => printedValue(name, each, depth + 1)) : []
    if (typeof value !== 'object' || value === null) return value
    const fields = depth < DEEPEST_SHOWN ? Object.entries(value) : []
    return Object.fromEntries(
      fields.flatMap(([key, each]) => {
        const field = key.slice(1)
        if (depth === 0 && field === 'authKey') return []
        const shownField = reveal ? field : withoutPhones(field)
        return [[shownField, printedValue(name === META ? name : field, each, depth + 1)]]
      }),
    )
  }

  try {
    JSON.parse(json)
    // A number that JavaScript cannot hold is read as a text; a letter before each text tells them apart.
    const marked = json.replace(STRING_OR_NUMBER, (token: string, text?: string) =>
      text ? `"s${text}` : `"n${token}"`,
    )
    const whole = JSON.stringify(printedValue(within, JSON.parse(marked), 0), undefined, 2)
    return whole.length > MOST_SHOWN_BYTES ? whole.slice(0, MOST_SHOWN_BYTES) + CUT : whole
  } catch {
    return undefined
  }
}
