/** Records the newest sends, OTP messages and callbacks, and counts the sends and callbacks. */
import { CALLBACK_KINDS, type CallbackKind } from '../public/events.ts'
import { recordOf } from '../runtime/values.ts'
import type { Delivery } from './request.ts'
import { FAULT_NAMES, faultRow, type FaultName, type SendFaultName } from './faults.ts'
import type { Seed } from './random.ts'

/** One entry of `recipients` in an answer. Contract, service.md#recipient-entry. */
export interface RecipientEntry {
  readonly messageId: string
  readonly to: string
  readonly status: string
  /** As text, like the service's. */
  readonly statusCode: string
  readonly messagePart: number
  readonly type: string
}

/** One request to the send endpoint, and its answer. */
export interface SendRecord {
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number
  readonly method: string
  /** The authenticated project. Undefined if authentication failed. */
  readonly project: string | undefined
  /** The `from` of the send, or the project's sender ID. Undefined if the request was refused before its fields were read. */
  readonly sender: string | undefined
  /** The name in the send; `sms` if it named none or an unknown one. */
  readonly channel: string
  /** The status of the answer, even if a fault withheld it. */
  readonly httpStatus: number
  /** The fault of the answer, if any. */
  readonly fault: SendFaultName | undefined
  /** The text of the refusal, if the whole send was refused. */
  readonly refusal: string | undefined
  readonly recipients: readonly RecipientEntry[]
}

/** One `transactional` message to one recipient. Contract, service.md#what-the-service-does. */
export interface OtpEntry {
  /** Unix seconds of the send. */
  readonly timestamp: number
  /** The `from` of the send, or the project's sender ID. */
  readonly sender: string
  readonly recipient: string
  readonly messageId: string
  /** The word of the answer, then that of the latest report. */
  readonly deliveryState: string
}

/** Results of callbacks with a fault. */
export interface FaultCounts {
  /** Requests with the fault. */
  readonly applied: number
  /** Those answered 2xx. */
  readonly accepted: number
  /** Those answered otherwise. */
  readonly refused: number
  /** Those without an answer. */
  readonly unanswered: number
}

/** Counts since the start. They include records that are no longer kept. */
export interface EmulatorReport {
  readonly seed: Seed
  readonly sends: {
    readonly requests: number
    /** By HTTP status. */
    readonly answers: Readonly<Record<string, number>>
    /** Requests refused as a whole, by the text of the refusal. */
    readonly refusals: Readonly<Record<string, number>>
    /** Entries of `recipients`, by status word. */
    readonly recipients: Readonly<Record<string, number>>
    /** Requests by fault, including lost requests, which do not count as sends. */
    readonly faults: Readonly<Partial<Record<SendFaultName, number>>>
  }
  readonly callbacks: {
    /** Requests that were posted. */
    readonly sent: number
    /** Those with a valid proof and a whole body, which a correct receiver accepts. */
    readonly intact: number
    /**
     * Intact requests answered other than 2xx: the receiver lost them, because the service never retries. Excludes requests
     * that a fault left with one proof, or with two signature headers: a URL that requires the other proof refuses them
     * correctly.
     */
    readonly lost: number
    /** Posted requests that are not intact but were answered 2xx. The receiver should have refused them. */
    readonly wronglyAccepted: number
    readonly accepted: number
    readonly refused: number
    /** Refused requests that were not lost: a fault made them invalid, or valid only under some policies. */
    readonly rightlyRefused: number
    /** Posted without an answer. The receiver may have accepted them nevertheless. */
    readonly unanswered: number
    /** Dropped by a fault or `enforceHttps`, or because the emulator closed. */
    readonly notSent: number
    /** Due, but the project has no URL for this kind. */
    readonly withoutUrl: number
    readonly byKind: Readonly<Record<CallbackKind, number>>
    /** By HTTP status. */
    readonly answers: Readonly<Record<string, number>>
  }
  /** Only faults that were applied. */
  readonly faults: Readonly<Partial<Record<FaultName, FaultCounts>>>
  /** The last 100 callbacks not answered 2xx. Contract, service.md#delivery-rules, 2: failures are logged by the service. */
  readonly failures: readonly Delivery[]
}

export type Journal = ReturnType<typeof createJournal>

const FAILURES_KEPT = 100

export function createJournal(seed: Seed, keep: number) {
  const sends: SendRecord[] = []
  const deliveries: Delivery[] = []
  const failures: Delivery[] = []
  const otps = new Map<string, OtpEntry>()
  const sendCounts = { requests: 0, answers: tally(), refusals: tally(), recipients: tally(), faults: tally() }
  const counts = {
    ...{ sent: 0, intact: 0, lost: 0, wronglyAccepted: 0, accepted: 0, refused: 0, rightlyRefused: 0 },
    ...{ unanswered: 0, notSent: 0, withoutUrl: 0 },
    byKind: recordOf(CALLBACK_KINDS, () => 0),
    answers: tally(),
  }
  const faults = new Map<string, Record<keyof FaultCounts, number>>()

  return {
    addSend(send: SendRecord): void {
      push(sends, send, keep)
      sendCounts.requests += 1
      add(sendCounts.answers, send.httpStatus)
      if (send.refusal !== undefined) add(sendCounts.refusals, send.refusal)
      for (const { status } of send.recipients) add(sendCounts.recipients, status)
      if (send.fault !== undefined) add(sendCounts.faults, send.fault)
    },
    addLostRequest: () => add(sendCounts.faults, 'lostRequest' satisfies SendFaultName),
    addDelivery(delivery: Delivery): void {
      push(deliveries, delivery, keep)
      const { sent, intact, status, kind } = delivery
      const end = status === undefined ? 'unanswered' : status >= 200 && status < 300 ? 'accepted' : 'refused'
      if (end !== 'accepted') push(failures, delivery, FAILURES_KEPT)
      for (const name of delivery.faults) {
        const met = faults.get(name) ?? { applied: 0, accepted: 0, refused: 0, unanswered: 0 }
        faults.set(name, met)
        met.applied += 1
        met[end] += 1
      }
      if (!sent) {
        counts.notSent += 1
        return
      }
      counts.sent += 1
      counts[end] += 1
      counts.byKind[kind] += 1
      if (intact) counts.intact += 1
      const verdict = verdictOf(delivery)
      if (verdict === 'lost' || verdict === 'wronglyAccepted') counts[verdict] += 1
      else if (end === 'refused') counts.rightlyRefused += 1
      if (status !== undefined) add(counts.answers, status)
    },
    /** Counts a callback that was due although the project has no URL for it. */
    addWithoutUrl: () => void (counts.withoutUrl += 1),
    /** Adds an entry, or replaces that of its message. */
    addOtp(entry: OtpEntry): void {
      otps.set(entry.messageId, entry)
      const [oldest] = otps.keys()
      if (otps.size > keep && oldest !== undefined) otps.delete(oldest)
    },
    /** Undefined for other messages, and for entries that are no longer kept. */
    otp: (messageId: string): OtpEntry | undefined => otps.get(messageId),
    otpLog: (): readonly OtpEntry[] => [...otps.values()],
    sends: (): readonly SendRecord[] => [...sends],
    deliveries: (): readonly Delivery[] => [...deliveries],
    report(): EmulatorReport {
      const met = FAULT_NAMES.flatMap((name) => (faults.has(name) ? [[name, faults.get(name)] as const] : []))
      const all = structuredClone({ sends: sendCounts, callbacks: counts, faults: Object.fromEntries(met) })
      // Not cloned: a payload may contain functions.
      return { seed, ...all, failures: [...failures] }
    },
  }
}

/** The problem with an answer: a lost callback, an accepted forgery, or a missing answer. */
export type Verdict = 'lost' | 'wronglyAccepted' | 'unanswered'

/** Undefined if the answer is correct, or correct under some policy of the receiver. */
export function verdictOf({ faults, intact, status }: Delivery): Verdict | undefined {
  const rows = FAULT_NAMES.filter((name) => faults.includes(name)).map(faultRow)
  if (status === undefined) return rows.some(({ slot }) => slot === 'way') ? undefined : 'unanswered'
  const isAccepted = status >= 200 && status < 300
  if (!intact) return isAccepted ? 'wronglyAccepted' : undefined
  // The receiver may require the proof that a fault left out.
  return isAccepted || rows.some(({ accepted }) => accepted.startsWith('by its ')) ? undefined : 'lost'
}

type Tally = Record<string, number>
const tally = (): Tally => ({})

function add(counts: Tally, name: string | number): void {
  counts[name] = (counts[name] ?? 0) + 1
}

/** Keeps the newest. Trims a tenth at a time, so that a full list stays cheap. */
function push<T>(list: T[], item: T, keep: number): void {
  list.push(item)
  if (list.length > keep * 1.1) list.splice(0, list.length - keep)
}
