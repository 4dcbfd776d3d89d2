/** `receiver.expect`: what was sent is written down, so that its reports say which it was, and that none came is noticed. */
import { z } from 'zod'
import { checkOptions, numberFrom, textOf } from '../check-options.ts'
import { LONGEST_TIMER_MS } from '../clock.ts'
import { MessagingWebhooksError, OptionsError } from '../errors.ts'
import type { FailureCause } from '../events.ts'
import type { Expectation } from '../inbox/expected.ts'
import type { NewExpectation, OpenStore } from '../inbox/store.ts'

/** What was sent: what a client answers, or made by hand. Contract, service.md#send-a-message. */
export interface SentMessages {
  /** Default: now. */
  readonly sentAt?: Date | undefined
  /** The kind of the send, such as `transactional`. */
  readonly type?: string | undefined
  readonly channel?: string | undefined
  readonly campaign?: string | undefined
  /** Delivery was planned for then. */
  readonly scheduledFor?: Date | undefined
  /** Those that the service has taken. */
  readonly messages: readonly { readonly messageId: string; readonly to?: string | undefined }[]
  /** Where some were refused at once, those with the codes 12, 22 and 23 are counted. Contract, service.md#states-and-transitions. */
  readonly recipients?: readonly SentRecipient[] | undefined
}

/** An entry of the answer to a send. Contract, service.md#recipient-entry. */
export interface SentRecipient {
  readonly code?: number | undefined
  readonly to?: string | undefined
  readonly messageId?: string | undefined
}

/** How `expect` does it. */
export interface ExpectOptions {
  /** Your own small JSON, such as the id of an order: at most 4,096 bytes. */
  readonly meta?: unknown
  /**
   * How long the end of a message may take before it is overdue, from its send, or from the time that it is scheduled for.
   * Milliseconds. Default: 24 hours, and 72 hours with a chat-app.
   */
  readonly within?: number | undefined
  /** The project's display name; needed where there are several. */
  readonly project?: string | undefined
}

/** What `expect` did. */
export interface ExpectCounts {
  /** Messages that it had not been told of before. */
  readonly expected: number
  /** Messages that it knew; nothing changed for them. */
  readonly known: number
}

const HOUR_MS = 3_600_000
/** The contract does not say how long a channel tries; carriers mostly give up after a day, and a phone with a chat-app is off for longer. */
const USUAL_WITHIN_MS = 24 * HOUR_MS
const CHAT_APP_WITHIN_MS = 72 * HOUR_MS
/** Contract, service.md#what-the-service-does: the channels that have a name of their own there; any other is a chat-app's. */
const NAMED_CHANNELS: ReadonlySet<string> = new Set(['sms', 'premium', 'airtime'])

const MOST_META_BYTES = 4_096
/** Messages that are written at once. */
const A_BATCH = 500
/** A time that is further away is a mistake. */
const LONGEST_AHEAD_MS = 366 * 24 * HOUR_MS

/** Contract, service.md#states-and-transitions: nothing is sent. */
const REFUSALS: ReadonlyMap<number | undefined, FailureCause> = new Map([
  [12, 'unsupported_number'],
  [22, 'insufficient_balance'],
  [23, 'volume_limit'],
])

const optionsSchema = z.strictObject({
  meta: z.unknown().optional(),
  within: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').optional(),
  project: textOf('the display name of a project').optional(),
})

const text = z.custom<string>((value) => typeof value === 'string', 'expected a text').optional()
const date = z
  .custom<Date>((value) => value instanceof Date && !Number.isNaN(value.getTime()), 'expected a Date')
  .optional()

/** Loose: a client's answer has more. */
const sentSchema = z.looseObject({
  sentAt: date,
  type: text,
  channel: text,
  campaign: text,
  scheduledFor: date,
  messages: z.array(z.looseObject({ messageId: textOf('the id that the service gave'), to: text })),
  recipients: z.array(z.looseObject({ code: z.number().optional(), to: text, messageId: text })).optional(),
})

interface ExpectPlaces {
  readonly now: () => number
  readonly keyOf: (messageId: string, project: string | undefined) => string
  readonly open: () => Promise<OpenStore<object>>
  /** Something may be due, and something will be overdue then. */
  readonly expected: (overdueAtMs: number) => void
}

export function createExpect(places: ExpectPlaces) {
  return async (sent: SentMessages, options?: ExpectOptions): Promise<ExpectCounts> => {
    const expectations = expectationsOf(sent, options, places)
    const store = await places.open()
    if (store.expect === undefined) throw new MessagingWebhooksError('expect_unsupported')
    let expected = 0
    for (let from = 0; from < expectations.length; from += A_BATCH) {
      const some = expectations.slice(from, from + A_BATCH)
      const isNew = await store.expect(some, places.now())
      expected += isNew.filter(Boolean).length
      places.expected(Math.min(...some.map(({ overdueAtMs = Infinity }) => overdueAtMs)))
    }
    return { expected, known: expectations.length - expected }
  }
}

/** Each message once: the parts of a long one share its id, and no report says of which part it is. */
function expectationsOf(
  given: SentMessages,
  options: ExpectOptions | undefined,
  { now, keyOf }: ExpectPlaces,
): readonly NewExpectation[] {
  const { meta, within, project } = checkOptions(optionsSchema, options, 'expect')
  const { sentAt, scheduledFor, type, channel, campaign, messages, recipients } = checkOptions(
    sentSchema,
    given,
    'expect',
  )
  const sentAtMs = sentAt?.getTime() ?? now()
  const fromMs = Math.max(sentAtMs, scheduledFor?.getTime() ?? sentAtMs)
  const overdueAtMs = Math.floor(fromMs + (within ?? usualWithinMs(channel)))
  if (overdueAtMs > now() + LONGEST_AHEAD_MS)
    throw new OptionsError('expect: the message would be overdue in more than a year; are these times milliseconds?')
  const about: Expectation = {
    sentAtMs,
    ...(project !== undefined && { project }),
    ...(type !== undefined && { type }),
    ...(channel !== undefined && { channel }),
    ...(campaign !== undefined && { campaign }),
    ...(scheduledFor !== undefined && { scheduledForMs: scheduledFor.getTime() }),
    ...(meta !== undefined && { meta: checkMeta(meta) }),
  }
  const byKey = new Map<string, NewExpectation>()
  for (const { messageId, to } of messages) {
    const messageKey = keyOf(messageId, project)
    const expectation = { ...about, messageId, ...(to !== undefined && { to }), overdueAtMs }
    if (!byKey.has(messageKey)) byKey.set(messageKey, { messageKey, sentAtMs, overdueAtMs, expectation })
  }
  for (const { code, to, messageId } of recipients ?? []) {
    const refused = REFUSALS.get(code)
    if (refused === undefined) continue
    // One without an id is told from others by whom it was for, and when.
    const messageKey = keyOf(messageId ?? `refused ${sentAtMs} ${to ?? ''}`, project)
    const expectation = {
      ...about,
      ...(messageId !== undefined && { messageId }),
      ...(to !== undefined && { to }),
      refused,
    }
    if (!byKey.has(messageKey)) byKey.set(messageKey, { messageKey, sentAtMs, overdueAtMs: undefined, expectation })
  }
  return [...byKey.values()]
}

function usualWithinMs(channel = 'sms'): number {
  return NAMED_CHANNELS.has(channel) ? USUAL_WITHIN_MS : CHAT_APP_WITHIN_MS
}

/** As JSON gives it back. Throws an `OptionsError` for what is no JSON, or too large. */
function checkMeta(meta: unknown): unknown {
  let json: string | undefined
  try {
    json = JSON.stringify(meta)
  } catch {
    // It has a circle, or a getter that throws.
  }
  if (json === undefined) throw new OptionsError('expect: meta cannot be written as JSON; expected plain values.')
  const bytes = Buffer.byteLength(json)
  if (bytes > MOST_META_BYTES)
    throw new OptionsError(
      `expect: meta has ${bytes} bytes as JSON; expected at most ${MOST_META_BYTES}, such as the id of an order.`,
    )
  return JSON.parse(json)
}
