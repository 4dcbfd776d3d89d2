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
  /** No handler is registered for this event. */
  see(event: WebhookEvent): void
}

export function createUnhandled(logger: Logger): Unhandled {
  const said = new Set<EventType>()
  let count = 0

  function sayUnrecognized(event: Extract<WebhookEvent, { readonly type: 'unrecognized' }>): void {
    const { id: eventId, kind, problem } = event
    logger.warn(
      { code: 'unrecognized_unhandled', eventId, ...(kind === undefined ? undefined : { kind }), problem },
      `A callback came that could not be read (${problem}), and no handler listens to \`unrecognized\`: ` +
        `${PROBLEMS[problem]}. ${likelyCause(event) ?? ''} \`receiver.on('unrecognized', …)\` gets its bytes. Event ${eventId}.`,
    )
  }

  function sayOnce(event: WebhookEvent): void {
    const { type: eventType, id: eventId } = event
    if (said.has(eventType)) return
    said.add(eventType)
    const cause = likelyCause(event)
    logger.warn(
      { code: 'event_unhandled', eventType, eventId },
      `No handler listens to \`${eventType}\`, so such events are settled as soon as they come. ` +
        `${cause === undefined ? '' : `${cause} `}Attach one with \`receiver.on('${eventType}', …)\` or ` +
        `\`receiver.onAny(…)\`. It is said once for each type. Event ${eventId}.`,
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

const CAUSES: Readonly<Record<CallbackProblem, string>> = {
  empty_body: 'Perhaps a redirect or a proxy on the way took the body off.',
  content_encoding: 'A proxy on the way compresses requests: let it leave them as they are.',
  not_json: 'Perhaps a proxy on the way changed it, or the sender uses a form that is not documented.',
  double_encoded: 'Something on the way wrapped the body in a JSON string: let it pass the bytes on.',
  not_an_object: 'Perhaps a proxy on the way changed it, or the sender uses a form that is not documented.',
  too_deep: 'No documented callback is like that.',
  too_many_values: 'No documented callback is like that.',
  no_message_id:
    'Perhaps the URL of another kind of callback is registered here: each kind needs a middleware of its own.',
  no_status: 'Perhaps the URL of another kind of callback is registered here: each kind needs a middleware of its own.',
  unknown_status: 'The sender uses a word or a code that is not documented.',
  several_statuses: 'The sender reports several states at once, which is not documented.',
  unknown_shape: 'Say what comes to this URL: `receiver.middleware("payment")`, for example.',
  store_refused: 'The store takes such a text or number in no field: look at what the payload has.',
  damaged: 'Look at what else writes to the store, and at its disk.',
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
      return 'It came after a later state of its message, and is one of these in place of a report for that.'
    case 'received':
    case 'payment':
      return wrongUrl(event.type, event.payload)
    case 'subscription.other':
      return wrongUrl('subscription', event.payload) ?? 'Let `subscriptionType` say which of the types it is.'
    default:
      return undefined
  }
}

function wrongUrl(kind: CallbackKind | undefined, data: unknown): string | undefined {
  const looksLike = isRecord(data) ? kindOf(data) : undefined
  if (looksLike === undefined || looksLike === kind) return undefined
  const seen = `By its fields it is ${CALLED[looksLike]}, and`
  if (kind !== undefined)
    return `${seen} this URL is mounted for ${kind === 'status' ? 'delivery reports' : `\`${kind}\``}: register another for it, with \`receiver.middleware('${looksLike}')\`.`
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
  return `${word}By \`networks\`, ${JSON.stringify(network)} is carrier A, which has no such word: is it carrier B?`
}

function isSafe(text: unknown): text is string {
  return typeof text === 'string' && SAFE_WORD.test(text)
}
