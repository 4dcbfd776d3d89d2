/** Checks the answer to a send, and builds the expectation of each message. */
import { z } from 'zod'
import type { SchemaResult } from '../runtime/apply-schema.ts'
import { checkOptions, numberFrom, textOf, type Given } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { defined } from '../runtime/values.ts'
import { OptionsError } from '../public/errors.ts'
import type { FailureCause } from '../public/events.ts'
import { listedAt, type Expectation } from '../messages/expected.ts'
import type { NewSend } from '../messages/commands.ts'
import type { SentMessages } from '../public/intention.ts'

const HOUR_MS = 3_600_000
/**
 * The contract does not say how long a channel tries. Carriers usually give up after a day; a phone with a chat-app may be off
 * for longer.
 */
const USUAL_WITHIN_MS = 24 * HOUR_MS
const CHAT_APP_WITHIN_MS = 72 * HOUR_MS
/** Contract, service.md#what-the-service-does: the names of these channels. Any other name is a chat-app's. */
const NAMED_CHANNELS: ReadonlySet<string> = new Set(['sms', 'premium', 'premium-subscription', 'airtime'])

const MAX_META_BYTES = 4_096
/** A more distant time is probably in the wrong unit. */
const LONGEST_AHEAD_MS = 366 * 24 * HOUR_MS

/** Contract, service.md#states-and-transitions: with these codes nothing is sent. */
const REFUSALS: ReadonlyMap<number | undefined, FailureCause> = new Map([
  [12, 'unsupported_number'],
  [22, 'insufficient_balance'],
  [23, 'volume_limit'],
])

/** Contract, service.md#states-and-transitions: with these codes the message is accepted. */
const ACCEPTED: ReadonlySet<number | undefined> = new Set([11, 13, 14])

/** Whether nothing was sent with this code. */
export function isRefusal(code: number | undefined): boolean {
  return REFUSALS.has(code)
}

const text = z.custom<string>((value) => typeof value === 'string', 'expected a string').optional()
export const aDate = z.custom<Date>(
  (value) => value instanceof Date && !Number.isNaN(value.getTime()),
  'expected a Date',
)
const date = aDate.optional()

/** The description of a send, recorded before or after it. */
export const ABOUT_SEND = { from: text, type: text, channel: text, campaign: text, scheduledFor: date }

export const HOW_KEPT = {
  /** Your own small JSON, such as an order id: at most 4,096 bytes. */
  meta: z.unknown().optional(),
  /**
   * How long a final report may take before the message is overdue, from its send or from its scheduled time. Milliseconds.
   * Default: 24 hours, and 72 hours on a chat-app channel.
   */
  withinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').optional(),
  /** `resend` does not send the message again after this time. */
  notAfter: date,
  /** The project's display name. Required if there are several. */
  project: textOf('the display name of a project').optional(),
}

/** Options of `expect`. */
export interface ExpectOptions<M = unknown> extends Given<typeof HOW_KEPT, { readonly meta: M | undefined }> {}

/** Not strict: a client's answer has more fields. */
const sentSchema = z.looseObject({
  ...ABOUT_SEND,
  reference: text,
  sentAt: date,
  messages: z.array(z.looseObject({ messageId: textOf('the id that the service gave'), to: text })),
  recipients: z
    .array(z.looseObject({ code: z.number().optional(), to: text, messageId: text, parts: z.number().optional() }))
    .optional(),
})

/** Throws an `OptionsError` if the value is not an answer. */
export function checkSent(given: SentMessages, where: string): z.output<typeof sentSchema> {
  return checkOptions(sentSchema, given, where)
}

/** The fields that all messages of a send share. */
interface SendAsKept {
  /** After a round trip through JSON. */
  readonly meta: unknown
  readonly withinMs: number | undefined
  readonly notAfterMs: number | undefined
  readonly project: string | undefined
  /** The pending send, as recorded before its request. */
  readonly pending?: Expectation | undefined
}

/** A send to record, and when it becomes overdue, by the clock of this process. */
export interface SendToRecord extends Omit<NewSend, 'overdueInMs'> {
  readonly messageKey: string
  readonly overdueAtMs: number | undefined
}

/** Returns each message once: the parts of a long message share its id, and no report identifies a part. */
export function expectationsOf(
  sent: z.output<typeof sentSchema>,
  { project, pending, ...kept }: SendAsKept,
  {
    now,
    keyOf,
  }: { readonly now: () => number; readonly keyOf: (messageId: string, project: string | undefined) => string },
): readonly SendToRecord[] {
  const sentAtMs = sent.sentAt?.getTime() ?? pending?.sentAtMs ?? now()
  const listedAtMs = pending === undefined ? sentAtMs : listedAt(pending)
  const { from = pending?.from, type = pending?.type, channel = pending?.channel, campaign = pending?.campaign } = sent
  const scheduledForMs = sent.scheduledFor?.getTime() ?? pending?.scheduledForMs
  const { meta = pending?.meta, notAfterMs = pending?.notAfterMs, withinMs = pending?.withinMs } = kept
  const { reference, sendKey, resendOf, attempt, unreported } = pending ?? {}
  const { project: named } = pending ?? { project }
  const overdueAtMs = overdueAt({ sentAtMs, scheduledForMs, channel, withinMs, nowMs: now() })
  const about: Expectation = defined({
    sentAtMs,
    listedAtMs: listedAtMs === sentAtMs ? undefined : listedAtMs,
    project: named,
    reference,
    sendKey,
    resendOf,
    attempt,
    from,
    type,
    channel,
    campaign,
    scheduledForMs,
    meta,
    notAfterMs,
    unreported,
  })
  const partsOf = new Map<string | undefined, number>()
  for (const { messageId, parts = 1 } of sent.recipients ?? [])
    if (parts > 1 && Number.isSafeInteger(parts)) partsOf.set(messageId, parts)
  const byKey = new Map<string, Expectation>()
  for (const { messageId, to = pending?.to } of sent.messages) {
    const messageKey = keyOf(messageId, project)
    const parts = partsOf.get(messageId)
    const expectation = {
      ...about,
      messageId,
      ...defined({ to, parts, overdueAtMs: unreported ? undefined : overdueAtMs }),
    }
    if (!byKey.has(messageKey)) byKey.set(messageKey, expectation)
  }
  const unnamed = new Map<string, number>()
  for (const { code, to = pending?.to, messageId } of sent.recipients ?? []) {
    const refused = REFUSALS.get(code)
    // No report can name an accepted message without an id.
    const isUnreported = refused === undefined && messageId === undefined && ACCEPTED.has(code)
    if (refused === undefined && !isUnreported) continue
    // An entry without an id is identified by its send, its recipient, and the number of such entries before it.
    const place = `${isUnreported ? 'accepted' : 'refused'} ${reference ?? sentAtMs} ${to ?? ''}`
    const before = unnamed.get(place) ?? 0
    if (messageId === undefined) unnamed.set(place, before + 1)
    const messageKey = keyOf(messageId ?? (before === 0 ? place : `${place} ${before}`), project)
    const outcome = isUnreported ? { unreported: true as const } : { refused }
    const expectation = { ...about, ...defined({ messageId, to, ...outcome }) }
    if (!byKey.has(messageKey)) byKey.set(messageKey, expectation)
  }
  // A reader that finds fewer entries knows that the answer is not completely recorded.
  const ofAnswer = pending === undefined ? undefined : { answered: byKey.size }
  return Array.from(byKey, ([messageKey, expectation]) => {
    return {
      messageKey,
      sentAtMs: listedAtMs,
      overdueAtMs: expectation.overdueAtMs,
      expectation: { ...expectation, ...ofAnswer },
    }
  })
}

/** Throws an `OptionsError` for an implausible time. */
export function overdueAt(send: {
  readonly sentAtMs: number
  readonly scheduledForMs: number | undefined
  readonly channel: string | undefined
  readonly withinMs: number | undefined
  readonly nowMs: number
}): number {
  const { sentAtMs, scheduledForMs = sentAtMs, channel, withinMs = usualWithinMs(channel), nowMs } = send
  const overdueAtMs = Math.floor(Math.max(sentAtMs, scheduledForMs) + withinMs)
  if (overdueAtMs > nowMs + LONGEST_AHEAD_MS)
    throw new OptionsError('expect: the message would be overdue in more than a year; are these times milliseconds?')
  return overdueAtMs
}

function usualWithinMs(channel = 'sms'): number {
  return NAMED_CHANNELS.has(channel) ? USUAL_WITHIN_MS : CHAT_APP_WITHIN_MS
}

/** Applies the user's schema of `meta`. */
export type MetaSchema = (meta: unknown) => SchemaResult | Promise<SchemaResult>

/**
 * Returns `meta` after a round trip through JSON. Rejects with an `OptionsError` if it is not JSON, too large, or refused by the user's
 * schema.
 */
export async function checkMeta(
  meta: unknown,
  { call, applyTo }: { readonly call: string; readonly applyTo: MetaSchema },
): Promise<unknown> {
  if (meta === undefined) return undefined
  let json: string | undefined
  try {
    json = JSON.stringify(meta)
  } catch {
    // It contains a cycle, or a getter that throws.
  }
  if (json === undefined) throw new OptionsError(`${call}: meta cannot be written as JSON; expected plain values.`)
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_META_BYTES)
    throw new OptionsError(
      `${call}: meta has ${bytes} bytes as JSON; expected at most ${MAX_META_BYTES}, such as the id of an order.`,
    )
  const result = await applyTo(meta)
  if (result.problem === 'schema_refused')
    throw new OptionsError(
      `${call}: \`schemas.meta\` refused ${result.paths.join(', ') || 'meta'}. Pass a value that the schema accepts.`,
    )
  if (result.problem !== undefined)
    throw new OptionsError(`${call}: \`schemas.meta\` threw or timed out. Fix the schema.`)
  return JSON.parse(json)
}
