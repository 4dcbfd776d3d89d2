/** Takes a signature apart, step by step. Contract, service.md#callback-authenticity. It never shows a digest that would be right. */
import { createSecretKey } from 'node:crypto'
import { readSignatureHeader, signatureHolds, type ParsedSignature } from '../authenticity/signature.ts'
import { findCauses } from './signature-causes.ts'

export interface Step {
  readonly step: 'header' | 'age' | 'body' | 'digest'
  readonly holds: boolean
  readonly text: string
}

export interface Verdict {
  readonly holds: boolean
  readonly steps: readonly Step[]
  /** What would make it hold, or what else is likely; empty where it holds. */
  readonly causes: readonly string[]
}

interface SignatureInput {
  readonly header: string
  readonly body: Buffer
  readonly secret: string
  readonly nowMs: number
  readonly toleranceSeconds: number
}

const MALFORMED = {
  signature_malformed: 'It does not have the form t=<unix seconds>,v1=<64 lowercase hex digits>.',
  signature_milliseconds: 'Its t has more than 12 digits: milliseconds, where seconds are expected.',
} as const

/** Checks the form, the age and the digest, each for itself, so that all that is wrong is named at once. */
export function checkSignature(input: SignatureInput): Verdict {
  const { body, secret, nowMs, toleranceSeconds } = input
  const header = withoutName(input.header)
  const parsed = readSignatureHeader([header])
  if (typeof parsed !== 'object') {
    const text = parsed === undefined ? 'There is none.' : MALFORMED[parsed]
    return { holds: false, steps: [{ step: 'header', holds: false, text }], causes: causesOfForm(header) }
  }
  const digest = signatureHolds(parsed, keyOf(secret), body)
  const steps: readonly Step[] = [
    {
      step: 'header',
      holds: true,
      text: `t is ${parsed.timestampText}, with ${count(parsed.digests.length, 'v1 digest')}.`,
    },
    ageStep(parsed, nowMs, toleranceSeconds),
    { step: 'body', holds: true, text: describeBody(body) },
    {
      step: 'digest',
      holds: digest,
      text: `HMAC-SHA256, keyed with the secret, over “${parsed.timestampText}.” and the ${count(body.length, 'byte')} of the body ${digest ? 'is the one in the header' : 'is none in the header'}.`,
    },
  ]
  return { holds: steps.every(({ holds }) => holds), steps, causes: digest ? [] : findCauses(parsed, body, secret) }
}

function keyOf(secret: string | Buffer) {
  return createSecretKey(typeof secret === 'string' ? Buffer.from(secret, 'utf8') : secret)
}

/** People copy the whole line of the header. */
function withoutName(header: string): string {
  return header.trim().replace(/^x-service-signature:\s*/i, '')
}

function ageStep(parsed: ParsedSignature, nowMs: number, toleranceSeconds: number): Step {
  const offset = Math.floor(nowMs / 1_000) - parsed.timestamp
  const where =
    offset === 0
      ? 'of this very second'
      : `${count(Math.abs(offset), 'second')} ${offset > 0 ? 'old' : 'in the future'}`
  const holds = Math.abs(offset) <= toleranceSeconds
  const text = holds
    ? `It is ${where}; at most ${toleranceSeconds} are allowed.`
    : `It is ${where}, and at most ${toleranceSeconds} are allowed: an old request, a replay, or a wrong clock. \`--at\` judges it by another moment.`
  return { step: 'age', holds, text }
}

function describeBody(body: Buffer): string {
  const oddities = [
    ...(body.length === 0 ? ['nothing came on the standard input'] : []),
    ...(body.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? ['it begins with a byte order mark'] : []),
    ...(body.at(-1) === 0x0a ? ['it ends with a line end'] : []),
    ...(body.includes('\r\n') ? ['it has line ends of two bytes (CRLF)'] : []),
    ...(isJson(body) ? [] : ['it is not JSON']),
  ]
  return `${count(body.length, 'byte')}${oddities.length === 0 ? ' of JSON' : `; ${oddities.join(', ')}`}.`
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString())
    return true
  } catch {
    return false
  }
}

function causesOfForm(header: string): readonly string[] {
  if (/^[0-9a-f]{64}$/i.test(header)) return ['This is a digest alone: the value has t= before it.']
  if (/v1=[0-9a-f]*[A-F]/.test(header)) return ['The digest has capital letters; the service writes small ones.']
  if (/v1=[0-9a-f]{1,63}(,|$)/.test(header)) return ['The digest is too short: was it cut when it was copied?']
  return ['Copy the whole value of X-Service-Signature, in quotation marks.']
}

function count(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? '' : 's'}`
}
