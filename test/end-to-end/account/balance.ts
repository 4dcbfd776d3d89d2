/** The account that the emulator's journal implies, worked out by hand from the contract. It shares no code with the receiver. */
import type { SendAccount } from 'messaging-webhooks'
import type { Delivery, SendRecord } from 'messaging-webhooks/emulator'
import { TIMEOUT } from './sending.ts'

/** A message that the client knows of, and the reports of it that reached the receiver. */
export interface Balanced {
  readonly messageId: string
  readonly to: string
  readonly sentAtMs: number
  readonly refused: string | undefined
  /** Sent with `type` `transactional`: the service itself resends it after a temporary failure. */
  readonly isTransactional: boolean
  /** Premium SMS, whose reports the receiver cannot read. */
  readonly isUnreported: boolean
  /** The callbacks that a correct receiver has accepted, in the order of what they report. */
  readonly reports: readonly Reported[]
  /** Those of them that are final. */
  readonly ends: readonly Reported[]
}

interface Reported {
  readonly word: string
  /** Unix seconds; 0 on a chat-app, whose callbacks carry no event time. */
  readonly timestamp: number
  readonly stage: number
  /** When the sender had an answer; Infinity if it hung up first, because then the result is unknown. */
  readonly acceptedAtMs: number
}

type Fields = Readonly<Record<string, unknown>>

/** Contract, service.md#states-and-transitions. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['12', 'unsupported_number'],
  ['22', 'insufficient_balance'],
  ['23', 'volume_limit'],
])

/** Contract, service.md#cross-channel-mapping: queued, sent, temporary failure, read; any other status is delivered or failed. */
const STAGES: ReadonlyMap<string, number> = new Map([
  ['queued', 0],
  ['sent', 1],
  ['network_failure', 2],
  ['expired', 2],
  ['read', 4],
])
const FAILED_FOR_NOW = 2
/** Delivered, or failed for good. */
const ENDED = 3

const DELIVERED: ReadonlySet<string> = new Set(['success', 'delivered', 'device_ack'])
/** Failures with a name of their own; any other status is a carrier's. */
const NAMED: ReadonlySet<string> = new Set([
  'network_failure',
  'delivery_impossible',
  'absent_subscriber',
  'unknown_error',
  'failed',
  'expired',
  'stopped_by_user',
  'stopped_by_admin',
  'delivery_failure',
])

/** The messages of every send whose answer reached the client. */
export function balanceOf(sends: readonly SendRecord[], deliveries: readonly Delivery[]): readonly Balanced[] {
  const reports = new Map<string, Map<string, Reported>>()
  for (const { messageId, ...report } of deliveries.filter(({ intact }) => intact).flatMap(reportIn)) {
    const ofMessage = reports.get(messageId) ?? new Map<string, Reported>()
    reports.set(messageId, ofMessage)
    // A duplicate counts as one report, accepted with the first.
    const name = `${report.word} ${report.timestamp}`
    const acceptedAtMs = Math.min(report.acceptedAtMs, ofMessage.get(name)?.acceptedAtMs ?? Infinity)
    ofMessage.set(name, { ...report, acceptedAtMs })
  }
  const messages = new Map<string, Balanced>()
  for (const { atMs, fault, channel, recipients } of sends) {
    if (fault !== undefined && fault !== 'lateAnswer') continue
    for (const { messageId, to, statusCode, type } of recipients) {
      const isTransactional = type === 'transactional'
      const ofMessage = [...(reports.get(messageId)?.values() ?? [])].toSorted(byOrder)
      // A temporary failure is not final if the service itself sends again.
      const ends = ofMessage.filter(({ stage }) => stage >= (isTransactional ? ENDED : FAILED_FOR_NOW))
      messages.set(messageId, {
        messageId,
        to,
        sentAtMs: atMs,
        refused: REFUSALS.get(statusCode),
        isTransactional,
        isUnreported: channel === 'premium',
        reports: ofMessage,
        ends,
      })
    }
  }
  return [...messages.values()]
}

/**
 * The totals once every deadline but the one-day deadlines has passed. `unknown`: the number of recipients of sends whose answer
 * was lost, and `unknownResent` how many of them are repetitions. `repetitions`: maps a message to the one that repeats it.
 */
export function accountOf(
  messages: readonly Balanced[],
  {
    unknown = 0,
    unknownResent = 0,
    repetitions = new Map(),
  }: { unknown?: number; unknownResent?: number; repetitions?: ReadonlyMap<string, string> } = {},
): SendAccount {
  const failed: Record<string, number> = {}
  const refused: Record<string, number> = {}
  const repeating = new Set(repetitions.values())
  const sum = {
    sent: messages.length + unknown,
    resent: messages.filter(({ messageId }) => repeating.has(messageId)).length + unknownResent,
    delivered: 0,
    read: 0,
    contradictory: 0,
    overdue: 0,
    waiting: 0,
    unreported: 0,
    unknown,
  }
  for (const message of messages) {
    const { refused: refusal, ends } = message
    const end = ends.at(-1)
    if (refusal !== undefined) refused[refusal] = (refused[refusal] ?? 0) + 1
    else if (message.isUnreported) sum.unreported += 1
    else if (end === undefined) sum[message.to.startsWith(TIMEOUT) ? 'waiting' : 'overdue'] += 1
    else if (ends.some(isSuccess) && !ends.every(isSuccess) && !isDelivered(message)) sum.contradictory += 1
    else if (!isSuccess(end)) failed[causeOf(end)] = (failed[causeOf(end)] ?? 0) + 1
    else sum[end.word === 'read' ? 'read' : 'delivered'] += 1
  }
  return { ...sum, failed, refused }

  /** Delivered or read last, and failed only for now, which is why it was sent again. */
  function isDelivered({ messageId, refused: refusal, ends }: Balanced): boolean {
    const failures = ends.filter((end) => !isSuccess(end))
    if (refusal !== undefined || ends.slice(-1).every((end) => !isSuccess(end))) return false
    return (
      failures.length === 0 || (repetitions.has(messageId) && failures.every(({ stage }) => stage === FAILED_FOR_NOW))
    )
  }
}

function isSuccess({ word }: Reported): boolean {
  return DELIVERED.has(word) || word === 'read'
}

function causeOf({ word }: Reported): string {
  return NAMED.has(word) ? word : 'carrier_word'
}

/** Contract, service.md#delivery-rules, 3: by time; within one second by the lifecycle of the message. */
function byOrder(a: Reported, b: Reported): number {
  return a.timestamp - b.timestamp || a.stage - b.stage
}

/** A report; undefined for a callback about something else. A premium report has no fields that the contract documents. */
function reportIn({
  kind,
  payload,
  sentAtMs,
  tookMs,
  status: answer,
}: Delivery): readonly (Reported & { readonly messageId: string })[] {
  if (kind !== 'status') return []
  const { messageId, status, timestamp, statuses } = payload
  const { message_id: chatId, status: chatStatus } = asFields(statuses)
  const word = String(statuses === undefined ? status : chatStatus)
  return [
    {
      messageId: String(statuses === undefined ? messageId : chatId),
      word,
      timestamp: typeof timestamp === 'number' ? timestamp : 0,
      stage: STAGES.get(word) ?? ENDED,
      acceptedAtMs: answer === undefined ? Infinity : sentAtMs + tookMs,
    },
  ]
}

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {} // An object's fields may be read by name.
}
