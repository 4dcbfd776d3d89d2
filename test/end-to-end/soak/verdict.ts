/** Compares what the emulator sent with what handlers received. */
import type { WebhookEvent } from 'messaging-webhooks'
import type { Delivery } from 'messaging-webhooks/emulator'

/** One call of a handler. */
export interface Handled {
  readonly name: string
  readonly message: string | undefined
  readonly place: Place | undefined
  readonly late: boolean
  readonly payload: unknown
}

/** The position of a report among those of its message: contract, service.md#delivery-rules. */
interface Place {
  /** Unix seconds; 0 on a chat-app, whose callbacks carry no event time. */
  readonly timestamp: number
  readonly stage: number
}

interface Verdict {
  /** Sent intact, but no handler received it. */
  readonly lost: readonly string[]
  /** Dispatched to handlers more than once. */
  readonly twice: readonly string[]
  /** Dispatched to handlers, although it was never sent intact. */
  readonly unasked: readonly string[]
  /** Dispatched with a payload that differs from the one that was sent. */
  readonly changed: readonly string[]
  /** Dispatched after a later report of its message without being marked late. */
  readonly backwards: readonly string[]
  /** Marked late, although no later report came before it. */
  readonly wronglyLate: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

/** Worked out by hand from the contract: queued, sent, temporary failure, read; any other status is final. */
const STAGES: Readonly<Record<string, number>> = { queued: 0, sent: 1, network_failure: 2, expired: 2, read: 4 }
const FINAL = 3

/** Identifies the event: two callbacks with the same name are the same event. */
export function nameOf(payload: unknown): string {
  const { reference, messageId, status, timestamp, statuses } = asFields(payload)
  if (statuses !== undefined) {
    const { message_id, status: word } = asFields(statuses)
    return `${String(message_id)} ${String(word)}`
  }
  return typeof reference === 'string' ? reference : `${String(messageId)} ${String(status)} ${String(timestamp)}`
}

export function handledOf(event: WebhookEvent): Handled {
  const { payload } = event
  const report = event.type === 'late' ? event.report : event
  const isReport = 'messageId' in report
  return {
    name: nameOf(payload),
    message: isReport ? report.messageId : undefined,
    place: isReport ? placeOf(asFields(payload)) : undefined,
    late: event.type === 'late',
    payload,
  }
}

export function judge(deliveries: readonly Delivery[], handled: readonly Handled[]): Verdict {
  const sent = new Set(deliveries.filter(({ intact }) => intact).map(({ payload }) => nameOf(payload)))
  // The journal does not contain what a fault wrote into a body, and an omitted duplicate does not show it.
  const corrupted = new Set(
    deliveries
      .filter(({ faults }) => faults.includes('nulText') || faults.includes('badUtf8'))
      .map(({ payload }) => nameOf(payload)),
  )
  const payloads = new Map(deliveries.map(({ payload }) => [nameOf(payload), JSON.stringify(payload)]))
  const seen = new Set<string>()
  const twice: string[] = []
  const changed: string[] = []
  const backwards: string[] = []
  const wronglyLate: string[] = []
  const before = new Map<string, Place[]>()
  for (const { name, message, place, late, payload } of handled) {
    if (seen.has(name)) twice.push(name)
    seen.add(name)
    if (!corrupted.has(name) && sent.has(name) && payloads.get(name) !== JSON.stringify(payload)) changed.push(name)
    if (message === undefined || place === undefined) continue
    const earlier = before.get(message) ?? []
    before.set(message, earlier)
    const isOvertaken = earlier.some((other) => isBefore(place, other))
    if (isOvertaken && !late) backwards.push(name)
    if (late && !isOvertaken) wronglyLate.push(name)
    if (!late) earlier.push(place)
  }
  return {
    lost: [...sent].filter((name) => !seen.has(name)),
    twice,
    changed,
    unasked: [...seen].filter((name) => !sent.has(name)),
    backwards,
    wronglyLate,
  }
}

function isBefore(a: Place, b: Place): boolean {
  return a.timestamp < b.timestamp || (a.timestamp === b.timestamp && a.stage < b.stage)
}

function placeOf({ statuses, status, timestamp }: Fields): Place {
  const word = statuses === undefined ? status : asFields(statuses)['status']
  const stage = typeof word === 'string' && Object.hasOwn(STAGES, word) ? STAGES[word] : FINAL
  return { timestamp: typeof timestamp === 'number' ? timestamp : 0, stage: stage ?? FINAL }
}

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
