/** From one outgoing callback to the bytes and the signature of one request. Contract, service.md#callback-authenticity. */
import { createHmac } from 'node:crypto'
import { signCallback } from '../testing/sign.ts'
import type { FaultName, PlannedCallback, PlannedRequest } from './faults.ts'
import { isRecord } from '../runtime/values.ts'
import { wholeNumber, type Draw, type Seed } from './random.ts'
import type { KeyPair, Outgoing } from './outgoing.ts'

type Fields = Outgoing['payload']

export interface BuiltRequest {
  readonly body: Buffer
  /** The values of the signature header: one, by a fault two, or none. */
  readonly signatures: readonly string[]
}

const DAY_SECONDS = 86_400
const TEN_MINUTES_SECONDS = 600
const MOST_SKEW_SECONDS = 240

/** A text for people, where the payload has one; contract, service.md#events. Receivers take unknown fields, so others may be added. */
const FREE_TEXTS = ['text', 'description', 'reason'] as const
const ADDED = 'description'

/** A byte that begins nothing, a sequence cut short, and a surrogate. */
const NOT_UTF8 = Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80])

/** Builds and signs it as of now; undefined for a payload that cannot be written as JSON. */
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

/** The body as bytes, with what the plan adds to its free text. The project's authKey replaces one of the payload's own. */
function writeFields(payload: Fields, authKey: string | undefined, text: PlannedCallback['text'], draw: Draw): Buffer {
  // Stands in the text until it is written as bytes.
  const marker = `not-utf8-${draw('marker').toString(36).slice(2)}`
  const added = (text.has('nulText') ? '\u0000' : '') + (text.has('badUtf8') ? marker : '')
  const fields = added === '' ? payload : withText(payload, added)
  const body = Buffer.from(JSON.stringify({ ...fields, authKey }), 'utf8')
  const at = text.has('badUtf8') ? body.lastIndexOf(marker) : -1
  return at === -1 ? body : Buffer.concat([body.subarray(0, at), NOT_UTF8, body.subarray(at + marker.length)])
}

/** Adds to the payload's free text, or gives it one. Ids, words and times stay as they are: it is still the same event. */
function withText(payload: Fields, text: string): Fields {
  const { statuses } = payload
  // Contract, service.md#chat-app-delivery-callback: `statuses.error` is the provider's reason.
  if (isRecord(statuses) && typeof statuses['error'] === 'string')
    return { ...payload, statuses: { ...statuses, error: statuses['error'] + text } }
  const name = FREE_TEXTS.find((other) => typeof payload[other] === 'string') ?? ADDED
  const own = payload[name]
  return { ...payload, [name]: (typeof own === 'string' ? own : 'Free text ') + text }
}

/** How far behind the clock the signature's `t` is, by fault; below zero for ahead. A request has one of them at most. */
const OFFSET_SECONDS: Readonly<Partial<Record<FaultName, (draw: Draw) => number>>> = {
  behind300: () => 300,
  ahead300: () => -300,
  behind301: () => 301,
  ahead301: () => -301,
  staleSignature: (draw) => wholeNumber(draw('age'), TEN_MINUTES_SECONDS, DAY_SECONDS),
  clockSkew: (draw) => wholeNumber(draw('skew'), 1, MOST_SKEW_SECONDS) * (draw('direction') < 0.5 ? 1 : -1),
}

/** The pair before the last rotation. A key that was never rotated, or is the live one after all, is made up. */
function pairBefore({ previous, project, ...live }: Outgoing, seed: Seed): KeyPair {
  const before = (key: keyof KeyPair): string =>
    previous !== undefined && previous[key] !== live[key]
      ? previous[key]
      : createHmac('sha256', String(seed)).update(`${key} of ${project} before`).digest('hex')
  return { authKey: before('authKey'), signingSecret: before('signingSecret') }
}

/** Another letter or digit in the authKey, so that it is still JSON, and surely another key; undefined where it has none. */
function withOtherKey(body: Buffer, authKey: string, draw: Draw): Buffer | undefined {
  const places = [...authKey.matchAll(/[A-Za-z0-9]/g)].map(({ index }) => index)
  const at = body.lastIndexOf(`"${authKey}"`)
  const place = places[Math.floor(draw('place') * places.length)]
  // Where JSON escapes something in it, an escape could be spelt otherwise and mean the same.
  if (at === -1 || place === undefined || !/^[\x20-\x7e]+$/.test(authKey)) return undefined
  const tampered = Buffer.from(body)
  const index = at + 1 + place
  tampered[index] = tampered[index] === 0x78 ? 0x79 : 0x78
  return tampered
}

/** Another byte anywhere; the signature was all that proved it. */
function withOtherByte(body: Buffer, draw: Draw): Buffer {
  const tampered = Buffer.from(body)
  const index = Math.floor(draw('place') * body.length)
  tampered[index] = (tampered[index] ?? 0) ^ wholeNumber(draw('change'), 1, 255)
  return tampered
}
