/** From one outgoing callback to the bytes and the signature of one request. Contract, service.md#callback-authenticity. */
import { createHmac } from 'node:crypto'
import { signCallback } from '../../testing/sign.ts'
import { wholeNumber, type Draw, type Seed } from '../faults/draws.ts'
import type { PlannedCallback, PlannedRequest } from '../faults/plan.ts'
import { spoilText } from './free-text.ts'
import type { Outgoing } from './outgoing.ts'

export interface BuiltRequest {
  readonly body: Buffer
  /** The values of the signature header: one, by a fault two, or none. */
  readonly signatures: readonly string[]
}

const DAY_SECONDS = 86_400
const TEN_MINUTES_SECONDS = 600
const MOST_SKEW_SECONDS = 240

/** Builds and signs it as of now. Throws for a payload that cannot be written as JSON. */
export function buildRequest(
  outgoing: Outgoing,
  { text, draw: shared }: Pick<PlannedCallback, 'text' | 'draw'>,
  { faults, draw }: PlannedRequest,
  { nowMs, seed }: { readonly nowMs: number; readonly seed: Seed },
): BuiltRequest {
  const { authKey, signingSecret } = faults.has('oldKey') ? pairBefore(outgoing, seed) : outgoing
  const hasKey = outgoing.proof !== 'signature' && !faults.has('noAuthKey')
  const isSigned = outgoing.proof !== 'authKey' && !faults.has('noSignature')
  const spoilt = spoilText(outgoing.payload, text, `not-utf8-${uniqueText(shared)}`)
  const write = (fields: Readonly<Record<string, unknown>>): Buffer => {
    const written = Buffer.from(JSON.stringify(fields), 'utf8')
    return spoilt.marker === undefined ? written : replaceOnce(written, spoilt.marker)
  }
  const timestamp = Math.floor(nowMs / 1_000) - offsetSeconds(faults, draw)
  const sign = (signed: Buffer): readonly string[] =>
    isSigned ? [signCallback(signed, signingSecret, { timestamp })] : []
  // A field of this name in the payload is none of the service's.
  const body = write({ ...spoilt.fields, authKey: hasKey ? authKey : undefined })
  if (faults.has('tamperedByte')) {
    const isOfTheKey = hasKey && (!isSigned || draw('tamper the key') < 0.5)
    const tampered = isOfTheKey ? withOtherKey(body, authKey, draw) : undefined
    if (tampered !== undefined) return { body: tampered, signatures: sign(body) }
    const keyless = write({ ...spoilt.fields, authKey: undefined })
    return { body: withOtherByte(keyless, draw), signatures: sign(keyless) }
  }
  const signatures = sign(body)
  return { body, signatures: faults.has('headerTwice') ? [...signatures, ...signatures] : signatures }
}

function uniqueText(draw: Draw): string {
  return draw('marker').toString(36).slice(2)
}

/** How far behind the clock the signature's `t` is; below zero for ahead. */
function offsetSeconds(faults: PlannedRequest['faults'], draw: Draw): number {
  if (faults.has('behind300')) return 300
  if (faults.has('ahead300')) return -300
  if (faults.has('behind301')) return 301
  if (faults.has('ahead301')) return -301
  if (faults.has('staleSignature')) return wholeNumber(draw('age'), TEN_MINUTES_SECONDS, DAY_SECONDS)
  if (faults.has('clockSkew')) {
    const off = wholeNumber(draw('skew'), 1, MOST_SKEW_SECONDS)
    return draw('direction') < 0.5 ? off : -off
  }
  return 0
}

/** The pair before the last rotation. What was never rotated, or is the live one after all, is made up. */
function pairBefore(outgoing: Outgoing, seed: Seed): { readonly authKey: string; readonly signingSecret: string } {
  const { authKey, signingSecret, previousAuthKey, previousSigningSecret, project } = outgoing
  const madeUp = (what: string): string =>
    createHmac('sha256', String(seed)).update(`${what} of ${project} before`).digest('hex')
  return {
    authKey: isOther(previousAuthKey, authKey) ? previousAuthKey : madeUp('auth key'),
    signingSecret: isOther(previousSigningSecret, signingSecret) ? previousSigningSecret : madeUp('signing secret'),
  }
}

function isOther(previous: string | undefined, live: string): previous is string {
  return previous !== undefined && previous !== '' && previous !== live
}

function replaceOnce(body: Buffer, { text, bytes }: { readonly text: string; readonly bytes: Buffer }): Buffer {
  const at = body.lastIndexOf(text)
  return at === -1 ? body : Buffer.concat([body.subarray(0, at), bytes, body.subarray(at + text.length)])
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
