/** Sample events, and calls of a store with the defaults of the suite. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type {
  AdmittedAndClaimed,
  Awaitable,
  Claim,
  ClaimRequest,
  EventsPage,
  NewEvent,
  OpenStore,
  StorePage,
  Settlement,
  StoredEvent,
} from '../inbox/store.ts'

/** The start time of each test. */
export const START_MS = Date.UTC(2026, 0, 1)
export const LEASE_MS = 60_000
export const DAY_MS = 86_400_000

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
  readonly gapUntilMs?: number
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
    gapUntilMs: rest.gapUntilMs ?? START_MS,
    record: {
      project: 'My Shop',
      kind: 'status',
      timestamp,
      timestampSource: 'payload',
      receivedAtMs: START_MS,
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

export async function admit(open: OpenStore<object>, events: readonly NewEvent[], nowMs = START_MS) {
  return open.admit(events, nowMs)
}

function claimRequest(request: Partial<ClaimRequest>): ClaimRequest {
  const nowMs = request.nowMs ?? START_MS
  return { limit: 100, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: new Set(), ...request }
}

/** Claims with a lease of `LEASE_MS`. */
export async function claim(open: OpenStore<object>, request: Partial<ClaimRequest> = {}) {
  return open.claim(claimRequest(request))
}

/** Admits and claims with a lease of `LEASE_MS`. */
export async function admitAndClaim(
  open: OpenStore<object>,
  events: readonly NewEvent[],
  request: Partial<ClaimRequest> = {},
): Promise<AdmittedAndClaimed> {
  assert.ok(open.admitAndClaim, 'the store has `admitAndClaim`')
  return open.admitAndClaim(events, claimRequest(request))
}

/** A page of events. Default: the first, with up to 100. */
export async function list(open: OpenStore<object>, page: Partial<EventsPage> = {}): Promise<StorePage<StoredEvent>> {
  assert.ok(open.events, 'the store has `events`')
  return open.events({ after: undefined, limit: 100, ...page })
}

/** Fails a test with a list that never ends. */
const MOST_PAGES = 10_000

export async function allOf<T>(
  pageAfter: (after: string | undefined) => Awaitable<StorePage<T>>,
): Promise<readonly T[]> {
  const all: T[] = []
  let after: string | undefined
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const { items, next } = await pageAfter(after)
    all.push(...items)
    if (next === undefined) return all
    after = next
  }
  throw new assert.AssertionError({ message: 'the list has an end' })
}

/** Names of the claimed samples, in order. */
export function namesOf(claims: readonly Claim[]): readonly (string | undefined)[] {
  return claims.map(({ record }) => record.report?.status)
}

/** A settlement without its lease. */
export type Outcome = WithoutLease<Settlement>

type WithoutLease<T> = T extends Settlement ? Omit<T, keyof Claim> : never

export function settlementOf({ id, messageKey, token }: Claim, outcome: Outcome): Settlement {
  return { id, messageKey, token, ...outcome }
}

/** Claims and settles all due events. Returns the names in order of the claims. */
export async function dispatchAll(open: OpenStore<object>, nowMs = START_MS): Promise<readonly (string | undefined)[]> {
  const names: (string | undefined)[] = []
  for (;;) {
    const { claims } = await claim(open, { nowMs })
    if (claims.length === 0) return names
    names.push(...namesOf(claims))
    await open.settle(
      claims.map((claimed) => settlementOf(claimed, { outcome: 'done' })),
      nowMs,
    )
  }
}
