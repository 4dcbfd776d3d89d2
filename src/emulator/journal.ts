/** What happened: the sends and the callbacks themselves, as many as are kept, and counts of all. */
import type { CallbackKind } from '../events.ts'
import { CALLBACK_KINDS } from '../events.ts'
import type { Delivery } from './callbacks/outgoing.ts'
import type { Seed } from './faults/draws.ts'
import { FAULT_NAMES, isForPolicy, type FaultName } from './faults/faults.ts'
import type { SendFaultName } from './faults/send-faults.ts'

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

interface Journal {
  addSend(send: SendRecord): void
  addLostRequest(): void
  addDelivery(delivery: Delivery): void
  addWithoutUrl(): void
  sends(): readonly SendRecord[]
  deliveries(): readonly Delivery[]
  report(): EmulatorReport
}

const FAILURES_KEPT = 100

export function createJournal({ seed, keep }: { readonly seed: Seed; readonly keep: number }): Journal {
  const sends: SendRecord[] = []
  const deliveries: Delivery[] = []
  const failures: Delivery[] = []
  const answers = new Map<string, number>()
  const refusals = new Map<string, number>()
  const recipients = new Map<string, number>()
  const sendFaults = new Map<string, number>()
  const callbackAnswers = new Map<string, number>()
  const faults = new Map<string, number>()
  const byKind = new Map<string, number>()
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
  }
  let requests = 0
  let withoutUrl = 0

  function addDelivery(delivery: Delivery): void {
    push(deliveries, delivery, keep)
    const { sent, intact, status, kind } = delivery
    const end = status === undefined ? 'unanswered' : status >= 200 && status < 300 ? 'taken' : 'refused'
    if (end !== 'taken') push(failures, delivery, FAILURES_KEPT)
    for (const fault of delivery.faults) for (const name of [fault, `${fault} ${end}`]) add(faults, name)
    if (!sent) {
      counts.notSent += 1
      return
    }
    add(byKind, kind)
    counts.sent += 1
    counts[end] += 1
    if (intact) counts.intact += 1
    if (end === 'refused') counts[intact && !isForPolicy(delivery.faults) ? 'lost' : 'rightlyRefused'] += 1
    if (!intact && end === 'taken') counts.wronglyTaken += 1
    if (status !== undefined) add(callbackAnswers, String(status))
  }

  function faultCounts(name: FaultName): FaultCounts {
    const count = (what: string): number => faults.get(what) ?? 0
    return {
      applied: count(name),
      taken: count(`${name} taken`),
      refused: count(`${name} refused`),
      unanswered: count(`${name} unanswered`),
    }
  }

  return {
    addSend(send) {
      push(sends, send, keep)
      requests += 1
      add(answers, String(send.httpStatus))
      if (send.refusal !== undefined) add(refusals, send.refusal)
      for (const { status } of send.recipients) add(recipients, status)
      if (send.fault !== undefined) add(sendFaults, send.fault)
    },
    addLostRequest: () => add(sendFaults, 'lostRequest' satisfies SendFaultName),
    addDelivery,
    addWithoutUrl: () => void (withoutUrl += 1),
    sends: () => [...sends],
    deliveries: () => [...deliveries],
    report: () => ({
      seed,
      sends: {
        requests,
        answers: Object.fromEntries(answers),
        refusals: Object.fromEntries(refusals),
        recipients: Object.fromEntries(recipients),
        faults: Object.fromEntries(sendFaults),
      },
      callbacks: {
        ...counts,
        withoutUrl,
        byKind: countsByKind(byKind),
        answers: Object.fromEntries(callbackAnswers),
      },
      faults: Object.fromEntries(
        FAULT_NAMES.filter((name) => faults.has(name)).map((name) => [name, faultCounts(name)]),
      ),
      failures: [...failures],
    }),
  }
}

function countsByKind(counts: ReadonlyMap<string, number>): Record<CallbackKind, number> {
  const all: Record<CallbackKind, number> = { status: 0, received: 0, payment: 0, subscription: 0 }
  for (const kind of CALLBACK_KINDS) all[kind] = counts.get(kind) ?? 0
  return all
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

/** Keeps the newest; a tenth at a time goes, so that a full list costs no more than one that is not. */
function push<T>(list: T[], item: T, keep: number): void {
  list.push(item)
  if (list.length > keep * 1.1) list.splice(0, list.length - keep)
}
