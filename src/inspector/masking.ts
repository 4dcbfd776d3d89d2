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
 * text. So a word is shown only if no run of its letters stands in the body, and it has no longer number.
 */
function maskedWords(said: string, body: string): string {
  const words = said.split(/\s+/).map((word) => {
    const isPlain = /^[\x21-\x7e]{1,32}$/.test(word) && !/\d{4}|\d\D+\d/.test(word)
    const runs = folded(word).match(/[a-z]+|\d+/g) ?? []
    return isPlain && runs.every((run) => PLAIN_WORDS.has(run) || !body.includes(run)) ? word : HIDDEN
  })
  return words.filter((word, index) => word !== HIDDEN || words[index - 1] !== HIDDEN).join(' ')
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

/** What is put in the place of a value, by the name of its field. `text` is a string itself, and any other value as it is written. */
type Replace = (name: string, text: string, kind: 'string' | 'number') => string

interface Printing {
  /** Of values; what it returns for a number is written as a string, unless it is the same. Default: all as it is. */
  readonly replace: Replace
  /** Of the names of fields. */
  readonly nameOf: (name: string) => string
  /** A field at the top that is left out. */
  readonly without?: string | undefined
}

/** So much of a body is shown; the rest can be downloaded. */
export const MOST_SHOWN_BYTES = 16 * 1024
const CUT = '… (cut)'
const TOKEN = /\s+|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[{}[\]:,]|true|false|null/gsy

/** A body as its reader may see it: indented JSON, or undefined where it is none. `without`: a field at the top that is left out. */
export function shownBody(json: string, { reveal }: Rights, without?: string): string | undefined {
  return printedOrNot(json, {
    replace: reveal ? (_, text) => text : maskedValue,
    nameOf: reveal ? (name) => name : withoutPhones,
    without,
  })
}

/** What the app wrote with a send: nobody here knows which of its values name somebody. */
export function shownMeta(meta: unknown, { reveal }: Rights): string | undefined {
  return printedOrNot(JSON.stringify(meta), {
    replace: reveal ? (_, text) => text : () => HIDDEN,
    nameOf: reveal ? (name) => name : withoutPhones,
  })
}

function printedOrNot(json: string, printing: Printing): string | undefined {
  try {
    JSON.parse(json)
  } catch {
    return undefined
  }
  return printed(json, printing)
}

/**
 * Text that `JSON.parse` takes, written anew from its own tokens: each number stays as the sender wrote it, where a JavaScript
 * number would be another one. The result is cut after so many characters.
 */
function printed(json: string, { replace, nameOf, without }: Printing): string {
  const tokens = tokensOf(json)
  let out = ''
  let depth = 0
  let at = 0
  const isFull = (): boolean => out.length > MOST_SHOWN_BYTES

  function line(): void {
    out += `\n${'  '.repeat(depth)}`
  }

  function value(name: string, isShown: boolean): void {
    const token = tokens[at] ?? 'null'
    at += 1
    if (isFull()) {
      // Nothing more is shown, however deep the rest is.
      at = tokens.length
      return
    }
    if (token === '{' || token === '[') {
      if (isShown) container(token, name)
      else skipContainer()
      return
    }
    if (!isShown) return
    if (token.startsWith('"')) out += JSON.stringify(replace(name, unquoted(token), 'string'))
    else if (/^[-\d]/.test(token)) {
      const replaced = replace(name, token, 'number')
      out += replaced === token ? token : JSON.stringify(replaced)
    } else out += token
  }

  /** To its end, without a call for each level. */
  function skipContainer(): void {
    for (let open = 1; open > 0 && at < tokens.length; at += 1) {
      const token = tokens[at]
      if (token === '{' || token === '[') open += 1
      else if (token === '}' || token === ']') open -= 1
    }
  }

  function container(open: string, name: string): void {
    const close = open === '{' ? '}' : ']'
    const isTop = depth === 0
    let isFirst = true
    out += open
    depth += 1
    while (at < tokens.length && tokens[at] !== close) {
      if (tokens[at] === ',') at += 1
      let field = name
      let isFieldShown = true
      if (open === '{') {
        field = unquoted(tokens[at] ?? '""')
        isFieldShown = !(isTop && field === without)
        at += 2
      }
      if (isFieldShown) {
        if (!isFirst) out += ','
        isFirst = false
        line()
        if (open === '{') out += `${JSON.stringify(nameOf(field))}: `
      }
      value(field, isFieldShown)
    }
    at += 1
    depth -= 1
    if (isFull()) return
    if (!isFirst) line()
    out += close
  }

  value('', true)
  return isFull() ? out.slice(0, MOST_SHOWN_BYTES) + CUT : out
}

function tokensOf(json: string): readonly string[] {
  return (json.match(TOKEN) ?? []).filter((token) => token.trim() !== '')
}

function unquoted(token: string): string {
  try {
    return String(JSON.parse(token))
  } catch {
    return ''
  }
}
