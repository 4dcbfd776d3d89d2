/** Free text with what JSON and databases do not like. Ids, words and times stay as they are: it is still the same event. */

type Fields = Readonly<Record<string, unknown>>

/** What stands in the text until it is written as bytes. */
interface SpoiltText {
  readonly fields: Fields
  /** Replaces the marker in the written body; absent where the fields say it all. */
  readonly marker?: { readonly text: string; readonly bytes: Buffer }
}

/** A text for people, where the payload has one; contract, service.md#events. Others are let in: unknown fields are to be taken. */
const FREE_TEXTS = ['text', 'description', 'reason'] as const
const ADDED = 'description'

/** A byte that begins nothing, a sequence cut short, and a surrogate. */
const NOT_UTF8 = Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80])

/** Adds to the payload's free text, or gives it one. `unique` must not occur in the payload. */
export function spoilText(payload: Fields, kinds: ReadonlySet<'nulText' | 'badUtf8'>, unique: string): SpoiltText {
  if (kinds.size === 0) return { fields: payload }
  const fields = withText(payload, (kinds.has('nulText') ? '\u0000' : '') + (kinds.has('badUtf8') ? unique : ''))
  return kinds.has('badUtf8') ? { fields, marker: { text: unique, bytes: NOT_UTF8 } } : { fields }
}

function withText(payload: Fields, text: string): Fields {
  const statuses = payload['statuses']
  // Contract, service.md#chat-app-delivery-callback: `statuses.error` is the provider's reason.
  if (isFields(statuses) && typeof statuses['error'] === 'string')
    return { ...payload, statuses: { ...statuses, error: statuses['error'] + text } }
  const name = FREE_TEXTS.find((other) => typeof payload[other] === 'string') ?? ADDED
  const own = payload[name]
  return { ...payload, [name]: (typeof own === 'string' ? own : 'Free text ') + text }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
