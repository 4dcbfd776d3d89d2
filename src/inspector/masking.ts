/**
 * What somebody without `reveal` is shown: of a phone number its last two digits, of a text from a body that it is there. What may
 * be shown is listed by name; anything else that a sender thinks of is masked.
 */
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
const MOST_QUOTED = 1_000

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

/** What a handler threw, without what it quotes of the event's body. */
export function maskedError(error: string, body: unknown): string {
  let text = error
  for (const quoted of quotable(body)) text = text.replaceAll(quoted, HIDDEN)
  return withoutPhones(text)
}

/** Of what a handler threw, its class alone. */
export function nameOfError(error: string): string {
  const [, name = 'Error'] = /^([A-Za-z]\w{0,63}):/.exec(error) ?? []
  return `${name}: ${HIDDEN}`
}

/** The texts of a body that are masked where they stand themselves, the longest first, for one may begin as another. */
function quotable(body: unknown): readonly string[] {
  const found = new Set<string>()
  const left: (readonly [name: string, value: unknown])[] = [['', body]]
  for (let next = left.pop(); next !== undefined && found.size < MOST_QUOTED; next = left.pop()) {
    const [name, value] = next
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value)
      if (text.length >= SHORTEST_QUOTED && !PLAIN_FIELDS.has(name)) found.add(text)
    } else if (Array.isArray(value)) for (const each of value as readonly unknown[]) left.push([name, each])
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) left.push([name === META ? name : key, each])
  }
  return [...found].sort((a, b) => b.length - a.length)
}
