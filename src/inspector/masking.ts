/**
 * What a reader without `reveal` gets: of a phone number its last two digits, of a text from a body that it is there, of an error its
 * name and those words of its first line that do not come from the body. A list names what may be shown; all else is masked.
 */
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
export const HIDDEN = '•••'
/** The app's own words about what it sent: nothing in it is plain, whatever it is called. */
export const META = 'meta'
/** So many digits may be a phone number, also a local one, whatever stands between them. */
const PHONE = /\+?\d(?:[\s().\-/]{0,2}\d){5,}/g
const DIGITS_SHOWN = 2
/** A larger body is not parsed: then no word that stands anywhere in it is shown. */
const MOST_PARSED_BYTES = 16 * 1024
const LONGEST_HEAD = 200
/** Any word can be decoded: shorter runs of what comes out stand in a body by chance. */
const LEAST_DECODED = 3
const BASE64 = /[\w+/-]{4,}/g
/** They are of the language, and of nobody. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(
  'a an and at be by cannot could did does failed for from has have in is it no not of on or the to was with'.split(
    ' ',
  ),
)

/** Of what is known to name somebody: without `reveal` its last two characters. */
export function shownRecipient(recipient: string, { reveal }: Rights): string {
  if (reveal) return recipient
  return recipient.length <= 2 * DIGITS_SHOWN ? HIDDEN : HIDDEN + recipient.slice(-DIGITS_SHOWN)
}

/** A text with the phone numbers in it masked. */
function withoutPhones(text: string): string {
  return text.replace(PHONE, (found) => HIDDEN + found.slice(-DIGITS_SHOWN))
}

/** A text of the sender or the app that names nobody by itself. */
export function shownText(text: string | undefined, { reveal }: Rights): string | undefined {
  return reveal || text === undefined ? text : withoutPhones(text)
}

/** A value of a body. */
function maskedValue(name: string, text: string, kind: 'string' | 'number'): string {
  if (!PLAIN_FIELDS.has(name)) return HIDDEN
  // Times and codes are numbers; an id is no phone number, however long it is.
  return kind === 'number' || IDS.has(name) ? text : withoutPhones(text)
}

/** What a handler threw, as far as its reader may see it. */
export function shownError(error: string | undefined, raw: Buffer | undefined, { reveal }: Rights): string | undefined {
  if (error === undefined || error === '') return undefined
  return reveal ? error : maskedError(error, raw)
}

/** `raw`: the body that it may quote; undefined where it is not known. */
function maskedError(error: string, raw: Buffer | undefined): string {
  const [head = ''] = error.split('\n', 1)
  const name = /^([A-Za-z]\w{0,63}Error)\b/.exec(head)?.[1] ?? 'Error'
  const said = head.startsWith(name) ? head.slice(name.length).replace(/^:\s*/, '') : head
  const text = raw === undefined ? HIDDEN : maskedWords(said.slice(0, LONGEST_HEAD), folded(privateTexts(raw)))
  return text === '' ? name : `${name}: ${text}`
}

/**
 * However an error quotes a text (a part of it, cut, escaped, encoded, in other letters), each run of letters in it is a part of that
 * text. So a word is shown only if no run of its letters stands in the body, it has no longer number, and is no base64 of such a run.
 */
function maskedWords(said: string, body: string): string {
  const isQuoted = (text: string, least: number): boolean =>
    (folded(text).match(/\p{L}+|\d+/gu) ?? []).some(
      (run) => run.length >= least && !PLAIN_WORDS.has(run) && body.includes(run),
    )
  const words = said.split(/\s+/).map((word) => {
    const isPlain = /^[\x21-\x7e]{1,32}$/.test(word) && !/\d{4}|\d\D+\d/.test(word)
    const isShown = isPlain && !isQuoted(word, 1) && !decodings(word).some((text) => isQuoted(text, LEAST_DECODED))
    return isShown ? word : HIDDEN
  })
  return words.filter((word, index) => word !== HIDDEN || words[index - 1] !== HIDDEN).join(' ')
}

/** What a word says as base64, from each of the places where a group of four may begin: it may be cut. */
function decodings(word: string): readonly string[] {
  const encoded = word.match(BASE64) ?? []
  return encoded.flatMap((text) => [0, 1, 2, 3].map((cut) => Buffer.from(text.slice(cut), 'base64').toString('utf8')))
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
export const MOST_SHOWN_BYTES = 16 * 1024
const CUT = '… (cut)'
/** What is deeper stands behind so much indentation that it would be cut. */
const DEEPEST_SHOWN = 128
const STRING_OR_NUMBER = /"((?:[^"\\]|\\.)*")|-?\d[\d.eE+-]*/gs
/** Of these days, and not in TypeScript's types yet. */
const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown }

/** A body as its reader may see it: indented JSON, or undefined where it is none. `without`: a field at the top that is left out. */
export function shownBody(json: string, { reveal }: Rights, without?: string): string | undefined {
  return printed(json, reveal ? undefined : maskedValue, without)
}

/** What the app wrote with a send: nobody here knows which of its values name somebody. */
export function shownMeta(meta: unknown, { reveal }: Rights): string | undefined {
  return printed(JSON.stringify(meta), reveal ? undefined : () => HIDDEN)
}

/** `mask`: what stands in the place of a value, by the name of its field. Each number stays as the sender wrote it, however long. */
function printed(json: string, mask: typeof maskedValue | undefined, without?: string): string | undefined {
  function shown(name: string, value: unknown, depth: number): unknown {
    if (typeof value === 'string') {
      const text = value.slice(1)
      const isString = value.startsWith('s')
      const masked = mask?.(name, text, isString ? 'string' : 'number') ?? text
      return isString || masked !== text ? masked : rawJSON(text)
    }
    if (Array.isArray(value)) return depth < DEEPEST_SHOWN ? value.map((each) => shown(name, each, depth + 1)) : []
    if (typeof value !== 'object' || value === null) return value
    const fields = depth < DEEPEST_SHOWN ? Object.entries(value) : []
    return Object.fromEntries(
      fields.flatMap(([key, each]) => {
        const field = key.slice(1)
        if (depth === 0 && field === without) return []
        return [[mask === undefined ? field : withoutPhones(field), shown(field, each, depth + 1)]]
      }),
    )
  }

  try {
    JSON.parse(json)
    // A number that JavaScript cannot hold is read as a text; a letter before each text tells them apart.
    const marked = json.replace(STRING_OR_NUMBER, (token: string, text?: string) =>
      text ? `"s${text}` : `"n${token}"`,
    )
    const whole = JSON.stringify(shown('', JSON.parse(marked), 0), undefined, 2)
    return whole.length > MOST_SHOWN_BYTES ? whole.slice(0, MOST_SHOWN_BYTES) + CUT : whole
  } catch {
    return undefined
  }
}
