/**
 * Counts events without a handler and logs them with the probable cause, because they are settled and would disappear silently.
 */
import {
  PROBLEMS,
  type CallbackKind,
  type EventType,
  type CallbackProblem,
  type WebhookEvent,
} from '../public/events.ts'
import { isRecord } from '../runtime/values.ts'
import type { Logger } from '../runtime/logger.ts'
import { readSubscription } from '../carriers/subscription.ts'

interface Unhandled {
  /** Since the start of this process. */
  readonly count: number
  /** Counts and logs an event without a handler. */
  see(event: WebhookEvent): void
}

export function createUnhandled(logger: Logger): Unhandled {
  const reported = new Set<EventType>()
  let count = 0

  function sayUnrecognized(event: Extract<WebhookEvent, { readonly type: 'unrecognized' }>): void {
    const { id: eventId, kind, problem } = event
    logger.warn(
      { code: 'unrecognized_unhandled', eventId, ...(kind === undefined ? undefined : { kind }), problem },
      `A callback could not be read (${problem}): ${PROBLEMS[problem]}. ${likelyCause(event) ?? ''} ` +
        `No handler listens to \`unrecognized\`: attach one with \`receiver.on('unrecognized', …)\` to get its bytes. Event ${eventId}.`,
    )
  }

  function sayOnce(event: WebhookEvent): void {
    const { type: eventType, id: eventId } = event
    if (reported.has(eventType)) return
    reported.add(eventType)
    const cause = likelyCause(event)
    logger.warn(
      { code: 'event_unhandled', eventType, eventId },
      `No handler listens to \`${eventType}\`, so its events are settled without one. ` +
        `${cause === undefined ? '' : `${cause} `}Attach one with \`receiver.on('${eventType}', …)\` or ` +
        `\`receiver.onAny(…)\`. Logged once per type. Event ${eventId}.`,
    )
  }

  return {
    get count() {
      return count
    },
    see(event) {
      count += 1
      if (event.type === 'unrecognized') sayUnrecognized(event)
      else sayOnce(event)
    },
  }
}

/** The name of each kind of callback in messages. */
const CALLED: Readonly<Record<CallbackKind, string>> = {
  status: 'a delivery report',
  received: 'a received message',
  payment: 'a payment',
  subscription: 'a premium callback',
}

/** The contract does not show the fields of these callbacks. These names are likely. */
const PAYMENT_FIELD = /amount|currency|transaction|paybill|c2b|receipt|mpesa/i
const TEXT_FIELD = /^(text|message|body|keyword|shortcode)$/i
const FROM_FIELD = /^(from|sender|msisdn|phone|phone_?number)$/i

/** Such a text is a word or a name, never a secret: masked keys contain other characters. */
const SAFE_WORD = /^[\p{L}\p{N}_ .:-]{1,40}$/u

const OTHER_KIND =
  'Another kind of callback may be registered at this URL: mount a middleware for each kind at a URL of its own.'

const CAUSES: Readonly<Record<CallbackProblem, string>> = {
  empty_body: 'A redirect or a proxy may have removed the body.',
  content_encoding: 'A proxy compresses requests: configure it to forward them unchanged.',
  not_json: 'A proxy may have changed it, or the sender uses an undocumented format.',
  double_encoded:
    'A component in front of the receiver wrapped the body in a JSON string: configure it to forward the bytes unchanged.',
  not_an_object: 'A proxy may have changed it, or the sender uses an undocumented format.',
  too_deep: 'No documented callback is nested so deeply.',
  too_many_values: 'No documented callback has so many values.',
  no_message_id: OTHER_KIND,
  no_status: OTHER_KIND,
  unknown_status: 'The sender uses an undocumented word or code.',
  several_statuses: 'The sender reports several states at once, which is undocumented.',
  unknown_shape: 'Name the kind of callbacks at this URL, for example with `receiver.middleware("payment")`.',
  store_refused: 'The store cannot hold a value of the payload: check its strings and numbers.',
  damaged: 'Check the disk of the store, and other programs that write to it.',
  schema_refused: 'Compare the payload with your schema: the contract does not show its fields.',
  schema_failed: 'Fix the schema: it threw or took too long.',
}

/**
 * The probable cause in one or two sentences, guessed from the kind of the URL, field names and status words. Quotes nothing
 * from the body except a short status word and a network name. Undefined if there is none.
 */
function likelyCause(event: WebhookEvent): string | undefined {
  switch (event.type) {
    case 'unrecognized':
      return wrongUrl(event.kind, event.data) ?? unknownWord(event.problem, event.data) ?? CAUSES[event.problem]
    case 'late':
      return 'A report is late if a later state of its message was dispatched before.'
    case 'received':
    case 'payment':
      return wrongUrl(event.type, event.payload)
    case 'subscription.other':
      return wrongUrl('subscription', event.payload) ?? 'Set `subscriptionType` to map it to a type.'
    default:
      return undefined
  }
}

function wrongUrl(kind: CallbackKind | undefined, data: unknown): string | undefined {
  const looksLike = isRecord(data) ? kindOf(data) : undefined
  if (looksLike === undefined || looksLike === kind) return undefined
  const seen = `Its fields are those of ${CALLED[looksLike]}, but`
  if (kind !== undefined)
    return `${seen} this URL is mounted for ${kind === 'status' ? 'delivery reports' : `\`${kind}\``}: register another URL, with \`receiver.middleware('${looksLike}')\`.`
  // Without a kind, reports are read anyway.
  if (looksLike === 'status') return undefined
  return `${seen} this URL is mounted without a kind, which reads delivery reports only: mount \`receiver.middleware('${looksLike}')\`.`
}

function kindOf(fields: Readonly<Record<string, unknown>>): CallbackKind | undefined {
  const names = Object.keys(fields)
  if ('statuses' in fields || ('messageId' in fields && ('status' in fields || 'statusCode' in fields))) return 'status'
  if (readSubscription(fields).word !== 'other') return 'subscription'
  if (names.some((name) => PAYMENT_FIELD.test(name))) return 'payment'
  if (names.some((name) => TEXT_FIELD.test(name)) && names.some((name) => FROM_FIELD.test(name))) return 'received'
  return undefined
}

/** For an SMS only carrier A's words are closed. Other networks may use any word. */
function unknownWord(problem: CallbackProblem, data: unknown): string | undefined {
  if (problem !== 'unknown_status' || !isRecord(data)) return undefined
  const { statuses, status, network } = data
  if (isRecord(statuses))
    return isSafe(statuses['status']) ? `The word is ${JSON.stringify(statuses['status'])}.` : undefined
  if (!isSafe(network)) return undefined
  const word = isSafe(status) ? `The word is ${JSON.stringify(status)}. ` : ''
  return `${word}\`networks\` assigns ${JSON.stringify(network)} to carrier A, which has no such word. Assign it to carrier B if that is correct.`
}

function isSafe(text: unknown): text is string {
  return typeof text === 'string' && SAFE_WORD.test(text)
}
