/** What happened: the newest sends, callbacks and OTP messages, and counts of all. */
import { CALLBACK_KINDS, type CallbackKind } from '../public/events.ts'
import { recordOf } from '../runtime/record-of.ts'
import type { Delivery } from './outgoing.ts'
import { FAULT_NAMES, verdictOf, type FaultName, type SendFaultName } from './faults.ts'
import type { Seed } from './random.ts'

/** One entry of `recipients` in an answer. Contract, service.md#recipient-entry. */
export interface RecipientEntry {
  readonly messageId: string
  readonly to: string
  readonly status: string
  /** As text, as the service shows it. */
  readonly statusCode: string
  readonly messagePart: number
  readonly type: string
}

/** One request to the send endpoint, and how it was answered. */
export interface SendRecord {
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number
  readonly method: string
  /** The project that was proved; undefined for a request that did not get so far. */
  readonly project: string | undefined
  /** As the send named it; `sms` where it named none, or one that there is not. */
  readonly channel: string
  /** Of the answer, be it one that a fault kept back. */
  readonly httpStatus: number
  /** What the answer met on its way, if anything. */
  readonly fault: SendFaultName | undefined
  /** Why it was refused as a whole, in the service's words. */
  readonly refusal: string | undefined
  readonly recipients: readonly RecipientEntry[]
}

/** What became of the callbacks that met a fault. */
export interface FaultCounts {
  /** Requests that it was applied to. */
  readonly applied: number
  /** Of these, answered 2xx. */
  readonly taken: number
  /** Of these, answered otherwise. */
  readonly refused: number
  /** Of these, without an answer. */
  readonly unanswered: number
}

/** Counts since the start; none is ever cut. */
export interface EmulatorReport {
  readonly seed: Seed
  readonly sends: {
    readonly requests: number
    /** By the HTTP status of the answer. */
    readonly answers: Readonly<Record<string, number>>
    /** Requests that were refused as a whole, by the service's words. */
    readonly refusals: Readonly<Record<string, number>>
    /** Entries of `recipients`, by status word. */
    readonly recipients: Readonly<Record<string, number>>
    /** Requests by the fault that they met, those that were lost and so are no sends included. */
    readonly faults: Readonly<Partial<Record<SendFaultName, number>>>
  }
  readonly callbacks: {
    /** Requests that went out. */
    readonly sent: number
    /** Of these, with a proof that holds and a whole body, so that a right receiver takes them. */
    readonly intact: number
    /**
     * Of these intact ones, answered otherwise than 2xx: what a receiver lost, for the service sends nothing twice. Not what
     * a fault left with one proof, or with its signature header twice: a URL that asks for the other one refuses that, and is
     * right.
     */
    readonly lost: number
    /** Of those sent and not intact, answered 2xx: what a receiver should have refused. */
    readonly wronglyTaken: number
    readonly taken: number
    readonly refused: number
    /** Of these refused ones, all but the lost: a fault made them so that a right receiver refuses them, or may. */
    readonly rightlyRefused: number
    /** Sent, and no answer came: a receiver that hung up first, or was hung up on, may have taken it all the same. */
    readonly unanswered: number
    /** Left out by a fault, by `enforceHttps`, or as the emulator closed. */
    readonly notSent: number
    /** Due, but the project has no URL of this kind. */
    readonly withoutUrl: number
    readonly byKind: Readonly<Record<CallbackKind, number>>
    /** By the HTTP status of the answer. */
    readonly answers: Readonly<Record<string, number>>
  }
  /** Each fault that was applied at least once. */
  readonly faults: Readonly<Partial<Record<FaultName, FaultCounts>>>
  /** Contract, service.md#delivery-rules, 2: failures are logged by the service. The last hundred that were not answered 2xx. */
  readonly failures: readonly Delivery[]
}

/** One `transactional` message to one recipient, and what became of it so far. Contract, service.md#what-the-service-does. */
export interface OtpEntry {
  /** When it was accepted, in Unix seconds. */
  readonly timestamp: number
  readonly sender: string
  readonly recipient: string
  readonly messageId: string
  /** The word of the last thing known: `accepted`, `scheduled`, `retrying`, or what was reported. */
  readonly deliveryState: string
}

export type Journal = ReturnType<typeof createJournal>

const FAILURES_KEPT = 100

export function createJournal(seed: Seed, keep: number) {
  const sends: SendRecord[] = []
  const deliveries: Delivery[] = []
  const failures: Delivery[] = []
  const otpEntries = new Map<string, OtpEntry>()
  const sendCounts = { requests: 0, answers: tally(), refusals: tally(), recipients: tally(), faults: tally() }
  const counts = {
    sent: 0,
    intact: 0,
    lost: 0,
    wronglyTaken: 0,
    taken: 0,
    refused: 0,
    rightlyRefused: 0,
    unanswered: 0,
    notSent: 0,
    withoutUrl: 0,
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
      const end = status === undefined ? 'unanswered' : status >= 200 && status < 300 ? 'taken' : 'refused'
      if (end !== 'taken') push(failures, delivery, FAILURES_KEPT)
      for (const name of delivery.faults) {
        const met = faults.get(name) ?? { applied: 0, taken: 0, refused: 0, unanswered: 0 }
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
      if (verdict === 'lost' || verdict === 'wronglyTaken') counts[verdict] += 1
      else if (end === 'refused') counts.rightlyRefused += 1
      if (status !== undefined) add(counts.answers, status)
    },
    /** A callback that was due, but the project has no URL for it. */
    addWithoutUrl: () => void (counts.withoutUrl += 1),
    addOtp(entry: OtpEntry): void {
      otpEntries.set(entry.messageId, entry)
      const oldest = otpEntries.keys().next()
      if (otpEntries.size > keep && oldest.done !== true) otpEntries.delete(oldest.value)
    },
    /** Does nothing for a message that is not in the log. */
    updateOtp(messageId: string, deliveryState: string): void {
      const entry = otpEntries.get(messageId)
      if (entry !== undefined) otpEntries.set(messageId, { ...entry, deliveryState })
    },
    sends: (): readonly SendRecord[] => [...sends],
    deliveries: (): readonly Delivery[] => [...deliveries],
    otpLog: (): readonly OtpEntry[] => [...otpEntries.values()],
    report(): EmulatorReport {
      const met = FAULT_NAMES.flatMap((name) => (faults.has(name) ? [[name, faults.get(name)] as const] : []))
      const all = structuredClone({ sends: sendCounts, callbacks: counts, faults: Object.fromEntries(met) })
      // A payload may hold what cannot be cloned, such as a function.
      return { seed, ...all, failures: [...failures] }
    },
  }
}

type Tally = Record<string, number>

function tally(): Tally {
  return {}
}

function add(counts: Tally, name: string | number): void {
  counts[name] = (counts[name] ?? 0) + 1
}

/** Keeps the newest; a tenth at a time goes, so that a full list costs no more than one that is not. */
function push<T>(list: T[], item: T, keep: number): void {
  list.push(item)
  if (list.length > keep * 1.1) list.splice(0, list.length - keep)
}
