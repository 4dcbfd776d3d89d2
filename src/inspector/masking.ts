/**
 * What somebody without `reveal` is shown: of a phone number its last two digits, of a text from a body that it is there. What may
 * be shown is listed by name; anything else that a sender thinks of is masked.
 */
import { inspect } from 'node:util'
import { CUT_END } from '../failure-text.ts'
import type { Rights } from './rights.ts'

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
/** The app’s own words about what it sent: nothing in it is plain, whatever it is called. */
export const META = 'meta'
/** So many digits may be a phone number, whatever stands between them. */
const PHONE = /\+?\d(?:[\s().\-/]{0,2}\d){6,}/g
const DIGITS_SHOWN = 2
/** A shorter text of a body is found by chance. */
const SHORTEST_QUOTED = 4
/** Each text that is masked costs a look through the whole error, in several forms. */
const MOST_QUOTED = 40
const MOST_PARSED_BYTES = 16 * 1024
/** Words of an error of which no more can be shown. */
const WORDS_SHOWN = 6

/** Of what is known to name somebody: without `reveal` its last two characters. */
export function shownRecipient(recipient: string, { reveal }: Rights): string {
  if (reveal) return recipient
  return recipient.length <= 2 * DIGITS_SHOWN ? HIDDEN : HIDDEN + recipient.slice(-DIGITS_SHOWN)
}

/** A text with the phone numbers in it masked. */
export function withoutPhones(text: string): string {
  return text.replace(PHONE, (found) => HIDDEN + found.slice(-DIGITS_SHOWN))
}

/** A value of a body. */
export function maskedValue(name: string, text: string, kind: 'string' | 'number'): string {
  if (!PLAIN_FIELDS.has(name)) return HIDDEN
  // Times and codes are numbers; an id is no phone number, however long it is.
  return kind === 'number' || IDS.has(name) ? text : withoutPhones(text)
}

/** What a handler threw, without what it quotes of the body; undefined: the body is not known. */
export function maskedError(error: string, raw: Buffer | undefined): string {
  if (raw === undefined) return `${classOf(error)}: ${HIDDEN}`
  const quoted = raw.length > MOST_PARSED_BYTES ? undefined : quotedIn(raw)
  if (quoted === undefined || quoted.some((text) => text.length < SHORTEST_QUOTED && hasWord(error, text)))
    return firstWords(error, raw.toString('utf8'))
  const forms = [...new Set(quoted.filter((text) => text.length >= SHORTEST_QUOTED).flatMap(formsOf))]
  // The longest first, for one may begin as another.
  forms.sort((one, other) => other.length - one.length)
  let text = withoutCutForm(error, forms)
  for (const form of forms) text = text.replaceAll(form, HIDDEN)
  return withoutPhones(text)
}

/** Its class alone, where it says so. */
function classOf(error: string): string {
  return /^([A-Za-z]\w{0,63}Error)\b/.exec(error)?.[1] ?? 'Error'
}

/** The class, and the words behind it that do not stand in the body: for a body of which masking would miss something, or take long. */
function firstWords(error: string, body: string): string {
  const [head = ''] = error.split('\n', 1)
  const name = classOf(error)
  const said = head.startsWith(name) ? head.slice(name.length).replace(/^:\s*/, '') : head
  const lower = body.toLowerCase()
  const words = said.split(/\s+/, WORDS_SHOWN).map((word) => {
    const parts = word.toLowerCase().match(/[a-z]+/g) ?? []
    return /^[\x21-\x7e]{1,32}$/.test(word) && !/\d/.test(word) && !parts.some((part) => lower.includes(part))
      ? word
      : HIDDEN
  })
  return `${name}: ${words.join(' ')} ${HIDDEN}`
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const around = [text[at - 1] ?? ' ', text[at + word.length] ?? ' ']
    if (around.every((character) => !/[\p{L}\p{N}]/u.test(character))) return true
  }
  return false
}

/** As an error may quote it: as it is, in JSON, in JSON in a text of JSON, as a debugger prints it, in an address; and line by line. */
function formsOf(text: string): readonly string[] {
  const inJson = JSON.stringify(text).slice(1, -1)
  const lines = text.split(/[\r\n]+/).filter((line) => line.length >= SHORTEST_QUOTED)
  const forms = [text, inJson, JSON.stringify(inJson).slice(1, -1), inspect(text).slice(1, -1), ...lines]
  return text.isWellFormed() ? [...forms, encodeURIComponent(text)] : forms
}

/** A text that was cut may end in the middle of what it quotes. */
function withoutCutForm(error: string, forms: readonly string[]): string {
  const end = error.endsWith(CUT_END) ? error.length - CUT_END.length : undefined
  if (end === undefined) return error
  let from = end
  for (const form of forms) {
    for (let length = Math.min(form.length, end); length > end - from; length -= 1)
      if (error.startsWith(form.slice(0, length), end - length)) {
        from = end - length
        break
      }
  }
  return from === end ? error : `${error.slice(0, from)}${HIDDEN}${CUT_END}`
}

/** The texts of a body that are masked where they stand themselves; undefined where there are too many, or it cannot be read. */
function quotedIn(raw: Buffer): readonly string[] | undefined {
  const found = new Set<string>()
  const left: (readonly [name: string, value: unknown])[] = [['', parsed(raw)]]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [name, value] = next
    if (value === undefined || found.size > MOST_QUOTED) return undefined
    if (typeof value === 'string' || typeof value === 'number') {
      if (value !== '' && !PLAIN_FIELDS.has(name)) found.add(String(value))
    } else if (Array.isArray(value)) for (const each of value as readonly unknown[]) left.push([name, each])
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) left.push([name === META ? name : key, each])
  }
  return [...found]
}

function parsed(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString('utf8'))
  } catch {
    return undefined
  }
}
