/** Sample events, and commands with the defaults of the suite. */
import { createHash } from 'node:crypto'
import type { MessageStore } from '../inbox/store.ts'
import type { Admission, Admit, Settle, Outcome } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'
import { claimDue, type Claim, type Claimed, type ClaimRequest } from '../dispatch/claim.ts'

/** Longer than any test runs. */
export const LONG_MS = 3_600_000
/** The time in the records of the samples. */
export const RECEIVED_MS = Date.UTC(2026, 0, 1)

/** A digest in the receiver's form: 32 hexadecimal digits. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest().toString('hex', 0, 16)
}

interface Sample {
  readonly message?: string
  /** Position in the message, and the default name. */
  readonly at?: number
  readonly name?: string
  readonly final?: boolean
  readonly step?: number
  readonly awaits?: number
  readonly reorderWaitMs?: number
  readonly raw?: Buffer
}

export function sample({ message = 'm', at = 1, name = `${message}-${at}`, ...rest }: Sample = {}): NewEvent {
  const id = digestOf(`event ${name}`)
  const timestamp = 1_700_000_000 + at
  return {
    id,
    messageKey: digestOf(`message ${message}`),
    order: `${String(timestamp).padStart(12, '0')}3${'0'.repeat(12)}${id}`,
    final: rest.final ?? false,
    step: rest.step ?? 0,
    awaits: rest.awaits ?? 0,
    reorderWaitMs: rest.reorderWaitMs ?? 0,
    record: {
      project: 'My Shop',
      kind: 'status',
      timestamp,
      timestampSource: 'payload',
      receivedAtMs: RECEIVED_MS,
      proof: 'both',
      traceparent: `00-${digestOf('trace')}-${digestOf(name).slice(16)}-01`,
      tracestate: 'vendor=value',
      report: { type: 'message.delivered', shape: 'sms', messageId: message, channel: 'sms', status: name },
    },
    raw: rest.raw ?? Buffer.from(JSON.stringify({ messageId: message, status: name })),
  }
}

/** An event without a message, such as a payment. */
export function loneSample(name: string, raw: Buffer = Buffer.from(JSON.stringify({ name }))): NewEvent {
  const event = sample({ message: name, name })
  const { report: _, ...record } = event.record
  return { ...event, messageKey: event.id, order: '', record: { ...record, kind: 'payment' }, raw }
}

/** The first report of each of `count` messages. */
export function samplesOf(count: number, prefix = 'm'): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index) => sample({ message: `${prefix}${index}` }))
}

export const keyOf = (message: string): string => sample({ message }).messageKey

export function admitting(event: NewEvent, leaseForMs?: number): Admit {
  return { do: 'admit', key: event.messageKey, event, ...(leaseForMs !== undefined && { leaseForMs }) }
}

export async function admit(open: MessageStore, events: readonly NewEvent[]): Promise<readonly Admission[]> {
  const answers = await open.run(events.map((event) => admitting(event)))
  return answers.map(({ admission }) => admission)
}

/** Leases events that are due. */
export async function claim(open: MessageStore, request: Partial<ClaimRequest> = {}): Promise<Claimed> {
  const watch = {
    onLeased() {},
    report(error: Error) {
      throw error
    },
  }
  return claimDue(open, { limit: 1_000, leaseForMs: LONG_MS, exclude: new Set(), ...request }, watch)
}

/** Names of the claimed samples, in order. */
export function namesOf(claims: readonly Claim[]): readonly (string | undefined)[] {
  return claims.map(({ record }) => record.report?.status)
}

const DONE = { outcome: 'done' } as const
export const DEAD = { outcome: 'dead', error: 'the reason' } as const

export function settling({ id, messageKey: key, token }: Claim, outcome: Outcome = DONE): Settle {
  return { do: 'settle', key, id, token, ...outcome }
}

/** Settles each claim with this outcome. Answers whether each token was that of the last attempt. */
export async function settleAll(
  open: MessageStore,
  claims: readonly Claim[],
  outcome: Outcome = DONE,
): Promise<readonly boolean[]> {
  const answers = await open.run(claims.map((claimed) => settling(claimed, outcome)))
  return answers.map(({ held }) => held)
}
