/** Builds the bytes and the signature of one request. Contract, service.md#callback-authenticity. */
import { createHmac } from 'node:crypto'
import { signCallback } from '../testing/sign.ts'
import type { FaultName, PlannedCallback, PlannedRequest } from './faults.ts'
import { isRecord } from '../runtime/values.ts'
import { wholeNumber, type Draw, type Seed } from './random.ts'
import type { KeyPair, Outgoing } from './outgoing.ts'

type Fields = Outgoing['payload']

export interface BuiltRequest {
  readonly body: Buffer
  /** Signature header values: one, two by a fault, or none. */
  readonly signatures: readonly string[]
}

const DAY_SECONDS = 86_400
const TEN_MINUTES_SECONDS = 600
const MOST_SKEW_SECONDS = 240

/**
 * Text fields for people, if the payload has one; contract, service.md#events. Receivers accept unknown fields, so a field may
 * be added.
 */
const FREE_TEXTS = ['text', 'description', 'reason'] as const
const ADDED = 'description'

/** An invalid byte, a truncated sequence, and a surrogate. */
const NOT_UTF8 = Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80])

/** Builds and signs the request with the current time. Undefined if the payload cannot be written as JSON. */
export function buildRequest(
  outgoing: Outgoing,
  { text, draw: shared }: Pick<PlannedCallback, 'text' | 'draw'>,
  { faults, draw }: PlannedRequest,
  { nowMs, seed }: { readonly nowMs: number; readonly seed: Seed },
): BuiltRequest | undefined {
  const { authKey, signingSecret } = faults.has('oldKey') ? pairBefore(outgoing, seed) : outgoing
  const hasKey = outgoing.proof !== 'signature' && !faults.has('noAuthKey')
  const isSigned = outgoing.proof !== 'authKey' && !faults.has('noSignature')
  const offset = [...faults].reduce((sum, name) => sum + (OFFSET_SECONDS[name]?.(draw) ?? 0), 0)
  const timestamp = Math.floor(nowMs / 1_000) - offset
  const write = (key: string | undefined): Buffer => writeFields(outgoing.payload, key, text, shared)
  const sign = (signed: Buffer): readonly string[] =>
    isSigned ? [signCallback(signed, signingSecret, { timestamp })] : []
  try {
    const body = write(hasKey ? authKey : undefined)
    if (faults.has('tamperedByte')) {
      const isOfTheKey = hasKey && (!isSigned || draw('tamper the key') < 0.5)
      const tampered = isOfTheKey ? withOtherKey(body, authKey, draw) : undefined
      if (tampered !== undefined) return { body: tampered, signatures: sign(body) }
      const keyless = write(undefined)
      return { body: withOtherByte(keyless, draw), signatures: sign(keyless) }
    }
    const signatures = sign(body)
    return { body, signatures: faults.has('headerTwice') ? [...signatures, ...signatures] : signatures }
  } catch {
    return undefined
  }
}

/** The body with the planned text faults. The project's authKey replaces one in the payload. */
function writeFields(payload: Fields, authKey: string | undefined, text: PlannedCallback['text'], draw: Draw): Buffer {
  // A placeholder for bytes that a string cannot hold.
  const marker = `not-utf8-${draw('marker').toString(36).slice(2)}`
  const added = (text.has('nulText') ? '\u0000' : '') + (text.has('badUtf8') ? marker : '')
  const fields = added === '' ? payload : withText(payload, added)
  const body = Buffer.from(JSON.stringify({ ...fields, authKey }), 'utf8')
  const at = text.has('badUtf8') ? body.lastIndexOf(marker) : -1
  return at === -1 ? body : Buffer.concat([body.subarray(0, at), NOT_UTF8, body.subarray(at + marker.length)])
}

/** Appends to a text field, or adds one. Ids, statuses and times stay unchanged, so it is the same event. */
function withText(payload: Fields, text: string): Fields {
  const { statuses } = payload
  // Contract, service.md#chat-app-delivery-callback: `statuses.error` is the provider's reason.
  if (isRecord(statuses) && typeof statuses['error'] === 'string')
    return { ...payload, statuses: { ...statuses, error: statuses['error'] + text } }
  const name = FREE_TEXTS.find((other) => typeof payload[other] === 'string') ?? ADDED
  const own = payload[name]
  return { ...payload, [name]: (typeof own === 'string' ? own : 'Free text ') + text }
}

/** Age of the signature in seconds, by fault; negative for the future. A request has at most one of these faults. */
const OFFSET_SECONDS: Readonly<Partial<Record<FaultName, (draw: Draw) => number>>> = {
  behind300: () => 300,
  ahead300: () => -300,
  behind301: () => 301,
  ahead301: () => -301,
  staleSignature: (draw) => wholeNumber(draw('age'), TEN_MINUTES_SECONDS, DAY_SECONDS),
  clockSkew: (draw) => wholeNumber(draw('skew'), 1, MOST_SKEW_SECONDS) * (draw('direction') < 0.5 ? 1 : -1),
}

/** The pair before the last rotation. A key that was never rotated, or is live again, is random. */
function pairBefore({ previous, project, ...live }: Outgoing, seed: Seed): KeyPair {
  const before = (key: keyof KeyPair): string =>
    previous !== undefined && previous[key] !== live[key]
      ? previous[key]
      : createHmac('sha256', String(seed)).update(`${key} of ${project} before`).digest('hex')
  return { authKey: before('authKey'), signingSecret: before('signingSecret') }
}

/** Changes a letter or digit of the authKey, so that the body stays JSON. Undefined if that is impossible. */
function withOtherKey(body: Buffer, authKey: string, draw: Draw): Buffer | undefined {
  const places = [...authKey.matchAll(/[A-Za-z0-9]/g)].map(({ index }) => index)
  const at = body.lastIndexOf(`"${authKey}"`)
  const place = places[Math.floor(draw('place') * places.length)]
  // If JSON escapes a character, a changed escape could mean the same character.
  if (at === -1 || place === undefined || !/^[\x20-\x7e]+$/.test(authKey)) return undefined
  const tampered = Buffer.from(body)
  const index = at + 1 + place
  tampered[index] = tampered[index] === 0x78 ? 0x79 : 0x78
  return tampered
}

/** Changes any byte. The signature is the only proof of this body. */
function withOtherByte(body: Buffer, draw: Draw): Buffer {
  const tampered = Buffer.from(body)
  const index = Math.floor(draw('place') * body.length)
  tampered[index] = (tampered[index] ?? 0) ^ wholeNumber(draw('change'), 1, 255)
  return tampered
}
