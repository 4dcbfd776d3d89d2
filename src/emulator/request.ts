/**
 * A callback to post, the bytes and the signature of one request for it, and the result. Contract,
 * service.md#callback-authenticity.
 */
import { createHmac } from 'node:crypto'
import { signCallback } from '../testing/sign.ts'
import type { FaultName, PlannedRequest } from './faults.ts'
import { isRecord } from '../runtime/values.ts'
import { wholeNumber, type Draw, type Seed } from './random.ts'
import type { CallbackKind, EventProof } from '../public/events.ts'

/** The webhook security pair. */
export interface KeyPair {
  readonly authKey: string
  readonly signingSecret: string
}

type Payload = Readonly<Record<string, unknown>>

export interface Outgoing extends KeyPair {
  /** The project's URL for this kind of callback. */
  readonly url: string
  readonly kind: CallbackKind
  /** The project's display name. */
  readonly project: string
  /** Proofs that the callback carries: the authKey in the body, the signature under the secret. */
  readonly proof: EventProof
  /** The pair before the last rotation, for the fault that uses an old key. Absent if none was rotated. */
  readonly previous?: KeyPair | undefined
  /** Posts to https URLs only. Contract, service.md#webhook-security-pair, Enforce HTTPS. */
  readonly enforceHttps?: boolean
  /** The fields of the body, without `authKey`. */
  readonly payload: Payload
  /**
   * Identifies the callback in a run: equal in every run with the same seed and sends, whatever the order of timers. Faults are
   * drawn by it, so that runs repeat despite different timing.
   */
  readonly key: string
}

/** One request for a callback, posted or dropped. A callback can have several. */
export interface Delivery {
  readonly kind: CallbackKind
  readonly project: string
  readonly url: string
  /** Without the `authKey`. */
  readonly payload: Payload
  /** By the emulator's clock, in milliseconds since the Unix epoch. */
  readonly sentAtMs: number
  /** Time to the answer, in milliseconds; 0 if nothing was posted. */
  readonly tookMs: number
  /** Faults of this request. */
  readonly faults: readonly string[]
  /** The request had a valid proof and its whole body: a correct receiver must accept it. */
  readonly intact: boolean
  /** False if a fault dropped it. */
  readonly sent: boolean
  /** HTTP status of the answer. Absent without an answer. */
  readonly status?: number
  /** Why there was no answer. Never contains a body, a key or the credentials of a URL. */
  readonly error?: string
}

/** Contract, service.md#delivery-rules: match by `messageId`; chat-app reports have it in `statuses.message_id`. */
export function messageOf({ messageId, statuses }: Payload): string | undefined {
  const id = messageId ?? (isRecord(statuses) ? statuses['message_id'] : undefined)
  return typeof id === 'string' ? id : undefined
}

const DAY_SECONDS = 86_400
const TEN_MINUTES_SECONDS = 600
const MAX_SKEW_SECONDS = 240

/**
 * Text fields for people, if the payload has one; contract, service.md#events. Receivers accept unknown fields, so a field may
 * be added.
 */
const FREE_TEXTS = ['text', 'description', 'reason'] as const
const ADDED = 'description'

/** Stands for bytes that a string cannot hold: a character of the private use area. */
const MARKER = '\uF8F0'
/** An invalid byte, a truncated sequence, and a surrogate. */
const NOT_UTF8 = Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80])

export type BuiltRequest = NonNullable<ReturnType<typeof buildRequest>>

/** Builds the body of a request and its signature header, if it has one. Undefined if the payload cannot be written as JSON. */
export function buildRequest(
  outgoing: Outgoing,
  { faults, draw }: PlannedRequest,
  nowMs: number,
  seed: Seed,
): { readonly body: Buffer; readonly signature: string | undefined } | undefined {
  const { authKey, signingSecret } = faults.has('oldKey') ? pairBefore(outgoing, seed) : outgoing
  const isTampered = faults.has('tamperedByte')
  // The signature is the only proof of a tampered body.
  const hasKey = outgoing.proof !== 'signature' && !faults.has('noAuthKey') && !isTampered
  const isSigned = outgoing.proof !== 'authKey' && !faults.has('noSignature')
  try {
    const payload = { ...outgoing.payload, ...(faults.has('noIdentity') && { id: undefined, timestamp: undefined }) }
    const body = writeFields(payload, hasKey ? authKey : undefined, faults)
    const timestamp = Math.floor(nowMs / 1_000) - ageSeconds(faults, draw)
    const signature = isSigned ? signCallback(body, signingSecret, { timestamp }) : undefined
    return { body: isTampered ? withOtherByte(body, draw) : body, signature }
  } catch {
    return undefined
  }
}

/** The body with the planned text faults. The project's authKey replaces one in the payload. */
function writeFields(payload: Payload, authKey: string | undefined, faults: ReadonlySet<FaultName>): Buffer {
  const added = (faults.has('nulText') ? '\u0000' : '') + (faults.has('badUtf8') ? MARKER : '')
  const fields = added === '' ? payload : withText(payload, added)
  const body = Buffer.from(JSON.stringify({ ...fields, authKey }), 'utf8')
  const at = faults.has('badUtf8') ? body.lastIndexOf(MARKER) : -1
  if (at === -1) return body
  return Buffer.concat([body.subarray(0, at), NOT_UTF8, body.subarray(at + Buffer.byteLength(MARKER))])
}

/** Appends to a text field, or adds one. Ids, statuses and times stay unchanged, so it is the same event. */
function withText(payload: Payload, text: string): Payload {
  const { statuses } = payload
  // Contract, service.md#chat-app-delivery-callback: `statuses.error` is the provider's reason.
  if (isRecord(statuses) && typeof statuses['error'] === 'string')
    return { ...payload, statuses: { ...statuses, error: statuses['error'] + text } }
  const name = FREE_TEXTS.find((other) => typeof payload[other] === 'string') ?? ADDED
  const own = payload[name]
  return { ...payload, [name]: (typeof own === 'string' ? own : 'Free text ') + text }
}

/** Age of the signature; negative for the future. A request has at most one of these faults. */
function ageSeconds(faults: ReadonlySet<FaultName>, draw: Draw): number {
  if (faults.has('staleSignature')) return wholeNumber(draw('age'), TEN_MINUTES_SECONDS, DAY_SECONDS)
  if (!faults.has('clockSkew')) return 0
  return wholeNumber(draw('skew'), 1, MAX_SKEW_SECONDS) * (draw('direction') < 0.5 ? 1 : -1)
}

/** The pair before the last rotation. A key that was never rotated, or is live again, is random. */
function pairBefore({ previous, project, ...live }: Outgoing, seed: Seed): KeyPair {
  const before = (key: keyof KeyPair): string =>
    previous !== undefined && previous[key] !== live[key]
      ? previous[key]
      : createHmac('sha256', String(seed)).update(`${key} of ${project} before`).digest('hex')
  return { authKey: before('authKey'), signingSecret: before('signingSecret') }
}

function withOtherByte(body: Buffer, draw: Draw): Buffer {
  const tampered = Buffer.from(body)
  const index = Math.floor(draw('place') * body.length)
  tampered[index] = (tampered[index] ?? 0) ^ wholeNumber(draw('change'), 1, 255)
  return tampered
}
