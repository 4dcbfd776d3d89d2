/** Waits for an event in a test. On timeout, the error lists the events that were dispatched instead. */
import { tracingChannel } from 'node:diagnostics_channel'
import { z } from 'zod'
import { checkOptions, describe, hasMethods, numberFrom, unknownName } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, systemClock } from '../runtime/clock.ts'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import { ATTEMPT_CHANNEL, type AttemptMessage } from '../public/channels.ts'
import { EVENT_TYPES, type EventType, type WebhookEvent } from '../public/events.ts'

/** The part of a receiver that types its events. */
interface Watched {
  onAny(handler: never): () => void
}

/** The union of a receiver's events, with its schemas applied. */
type EventOf<R> = R extends { onAny: (handler: infer H) => unknown }
  ? H extends (event: infer E, ...rest: never[]) => unknown
    ? E
    : never
  : never

/** Below the five-second limit of Vitest and Jest, so that this error is shown. */
const TIMEOUT_MS = 4_000
/** Maximum number of listed events; others are counted. */
const MAX_LISTED = 20

const optionsSchema = z.strictObject({
  timeoutMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(TIMEOUT_MS),
})

/**
 * Resolves with the event of this type and message once all of its handlers have succeeded, before or after this call. An event
 * without a message id (`received`, `payment`, ...) matches if any field of its payload has this value, or by its type alone if
 * the id is undefined. Returns the newest match. The receiver must run in this process.
 *
 * Rejects with a `MessagingWebhooksError`: `wait_timed_out` after `timeoutMs` milliseconds (default 4,000), with a list of the
 * events dispatched so far; `pattern_unknown` for an unknown type. Rejects with an `OptionsError` for an invalid receiver, id
 * or option. Uses the machine's time, not the receiver's `clock`.
 */
export async function waitFor<R extends Watched, const T extends EventType>(
  receiver: R,
  type: T,
  messageId?: string,
  options: { readonly timeoutMs?: number | undefined } = {},
): Promise<Extract<EventOf<R>, { readonly type: T }>> {
  if (!hasMethods(receiver, ['onAny', 'middleware']))
    throw new OptionsError(`waitFor: the receiver is ${describe(receiver)}; expected the result of createReceiver.`)
  if (!EVENT_TYPES.includes(type)) throw new MessagingWebhooksError('pattern_unknown', unknownName(type, EVENT_TYPES))
  if (messageId !== undefined && typeof messageId !== 'string')
    throw new OptionsError(
      `waitFor: the message id is ${describe(messageId)}; expected a string, or undefined before options.`,
    )
  const { timeoutMs } = checkOptions(optionsSchema, options, 'waitFor')
  const { dispatched, listeners } = historyOf(receiver)

  function find(): WebhookEvent | undefined {
    return dispatched.findLast(({ event, succeeded }) => succeeded && isWanted(event, type, messageId))?.event
  }

  const event = find() ?? (await nextFound(find, listeners, timeoutMs))
  if (event === undefined) {
    const wanted = messageId === undefined ? type : `${type} of ${messageId}`
    const detail = `No ${wanted} was handled within ${timeoutMs} ms. ${whatCame(dispatched)}`
    throw new MessagingWebhooksError('wait_timed_out', detail)
  }
  // `find` has checked the type, and the type of `onAny` has the receiver's schemas.
  return event as Extract<EventOf<R>, { readonly type: T }>
}

function nextFound(
  find: () => WebhookEvent | undefined,
  listeners: Set<() => void>,
  timeoutMs: number,
): Promise<WebhookEvent | undefined> {
  return new Promise((resolve) => {
    const end = (event: WebhookEvent | undefined): void => {
      cancel()
      listeners.delete(look)
      resolve(event)
    }
    const look = (): void => {
      const event = find()
      if (event !== undefined) end(event)
    }
    const cancel = systemClock().setTimer(() => end(undefined), timeoutMs, true)
    listeners.add(look)
  })
}

function isWanted(event: WebhookEvent, type: EventType, messageId: string | undefined): boolean {
  if (event.type !== type) return false
  if (messageId === undefined) return true
  const own = messageIdOf(event)
  return own === undefined ? hasValue(event.payload, messageId) : own === messageId
}

function messageIdOf(event: WebhookEvent): string | undefined {
  return 'messageId' in event ? event.messageId : undefined
}

function hasValue(payload: unknown, value: string): boolean {
  return typeof payload === 'object' && payload !== null && Object.values(payload).includes(value)
}

function whatCame(dispatched: History['dispatched']): string {
  if (dispatched.length === 0) return 'No event was dispatched.'
  const listed = dispatched.slice(-MAX_LISTED).map(({ event, succeeded }) => {
    const messageId = messageIdOf(event)
    const name = messageId === undefined ? event.type : `${event.type} of ${messageId}`
    return succeeded ? name : `${name} (a handler failed)`
  })
  const more = dispatched.length - listed.length
  return `Dispatched: ${more > 0 ? `${more} others, ` : ''}${listed.join(', ')}.`
}

/** The events that a receiver has dispatched since this kit was imported. */
interface History {
  /** Newest last. Limited to 1,000, so that a long run does not exhaust memory. */
  readonly dispatched: { readonly event: WebhookEvent; readonly succeeded: boolean }[]
  /** Called for each new event. */
  readonly listeners: Set<() => void>
}

const KEPT = 1_000

const histories = new WeakMap<object, History>()

function historyOf(receiver: object): History {
  const known = histories.get(receiver)
  if (known !== undefined) return known
  const history: History = { dispatched: [], listeners: new Set() }
  histories.set(receiver, history)
  return history
}

const { end, asyncEnd } = tracingChannel<unknown, AttemptMessage>(ATTEMPT_CHANNEL)
end.subscribe(remember)
asyncEnd.subscribe(remember)

/** Without an outcome, a handler has returned a promise, and `asyncEnd` follows. */
function remember(message: unknown): void {
  // Only receivers publish to this channel.
  const { receiver, event, outcome } = message as AttemptMessage
  if (outcome !== 'succeeded' && outcome !== 'failed' && outcome !== 'unhandled') return
  const { dispatched, listeners } = historyOf(receiver)
  // A test may wait for an event that has no handler.
  dispatched.push({ event, succeeded: outcome !== 'failed' })
  if (dispatched.length > KEPT) dispatched.shift()
  for (const listener of listeners) listener()
}
