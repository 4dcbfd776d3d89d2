/** Checks a signature step by step. Contract, service.md#callback-authenticity. Never reveals a valid digest. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { readSignatureHeader, signatureHolds, type ParsedSignature } from '../verify/authenticate.ts'
import { findChange } from '../operations/doctor/changes.ts'

interface Step {
  readonly step: 'header' | 'age' | 'body' | 'digest'
  readonly holds: boolean
  readonly text: string
}

interface Verdict {
  readonly holds: boolean
  readonly steps: readonly Step[]
  /** Found or likely causes. Empty if the signature holds. */
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

/** Checks form, age and digest independently, so that all problems are reported at once. */
export function checkSignature(input: SignatureInput): Verdict {
  const { body, secret, nowMs, toleranceSeconds } = input
  const header = withoutName(input.header)
  const parsed = readSignatureHeader([header])
  if (typeof parsed !== 'object') {
    const text = parsed === undefined ? 'The header is empty.' : MALFORMED[parsed]
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
      text: `HMAC-SHA256 over “${parsed.timestampText}.” and the ${count(body.length, 'byte')} of the body, keyed with the secret, ${digest ? 'matches' : 'does not match'} the header.`,
    },
  ]
  return { holds: steps.every(({ holds }) => holds), steps, causes: digest ? [] : findCauses(parsed, body, secret) }
}

function keyOf(secret: string | Buffer) {
  return createSecretKey(typeof secret === 'string' ? Buffer.from(secret, 'utf8') : secret)
}

/** Users may copy the whole header line. */
function withoutName(header: string): string {
  return header.trim().replace(/^x-service-signature:\s*/i, '')
}

function ageStep(parsed: ParsedSignature, nowMs: number, toleranceSeconds: number): Step {
  const offset = Math.floor(nowMs / 1_000) - parsed.timestamp
  const where =
    offset === 0 ? 'from this second' : `${count(Math.abs(offset), 'second')} ${offset > 0 ? 'old' : 'in the future'}`
  const holds = Math.abs(offset) <= toleranceSeconds
  const text = holds
    ? `The signature is ${where}; ${toleranceSeconds} are allowed.`
    : `The signature is ${where}; ${toleranceSeconds} are allowed. Likely an old request, a replay, or a wrong clock. Pass \`--at\` to check it at another time.`
  return { step: 'age', holds, text }
}

function describeBody(body: Buffer): string {
  const oddities = [
    ...(body.length === 0 ? ['it is empty'] : []),
    ...(body.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? ['it begins with a byte order mark'] : []),
    ...(body.at(-1) === 0x0a ? ['it ends with a newline'] : []),
    ...(body.includes('\r\n') ? ['it has CRLF line ends'] : []),
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
  if (/^[0-9a-f]{64}$/i.test(header)) return ['This is only the digest. Copy the whole value, which begins with t=.']
  if (/v1=[0-9a-f]*[A-F]/.test(header)) return ['The digest has upper-case letters; the service writes lower case.']
  if (/v1=[0-9a-f]{1,63}(,|$)/.test(header)) return ['The digest is too short. Copy the whole value.']
  return ['Copy the whole value of X-Service-Signature, in quotation marks.']
}

function count(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? '' : 's'}`
}

/** Common mistakes in copying a secret. */
const OTHER_SECRETS: readonly (readonly [cause: string, change: (secret: string) => string | Buffer | undefined])[] = [
  [
    'the secret has white space at its start or end, such as a line end from a file. Trim it.',
    (secret) => changed(secret, secret.trim()),
  ],
  ['the request was signed with a line end after the secret.', (secret) => `${secret}\n`],
  [
    'the secret is in quotation marks. Remove them.',
    (secret) => changed(secret, secret.replace(/^(["'])(.*)\1$/, '$2')),
  ],
  [
    'the request was signed with the secret decoded from hex.',
    (secret) => (/^([0-9a-f]{2})+$/i.test(secret) ? Buffer.from(secret, 'hex') : undefined),
  ],
  [
    'the request was signed with the secret decoded from base64.',
    (secret) => (/^[\w+/-]{8,}={0,2}$/.test(secret) ? Buffer.from(secret, 'base64') : undefined),
  ],
]

/** Changes that would make the digest valid, each tried alone; otherwise the remaining causes. */
function findCauses(signature: ParsedSignature, body: Buffer, secret: string): readonly string[] {
  const holds = (key: string | Buffer, bytes: Buffer): boolean => signatureHolds(signature, keyOf(key), bytes)
  const found: string[] = []
  // The first match wins: re-serialising also removes a trailing newline.
  const change = findChange('cause', body, (other) => !other.equals(body) && holds(secret, other))
  if (change !== undefined) found.push(`Found: ${change}`)
  for (const [cause, change] of OTHER_SECRETS) {
    const other = change(secret)
    if (other !== undefined && other.length > 0 && holds(other, body)) found.push(`Found: ${cause}`)
  }
  if (isOverBodyAlone(signature, body, secret))
    found.push('Found: the digest covers only the body. It must cover t, a period and the body.')
  return found.length > 0 ? found : LEFT
}

const LEFT = [
  'No common mistake explains it. The secret is probably wrong: another project’s, or one from before a rotation.',
  'Otherwise the body differs from the signed one. Check the original bytes, unparsed and uncompressed.',
] as const

function isOverBodyAlone({ digests }: ParsedSignature, body: Buffer, secret: string): boolean {
  const digest = createHmac('sha256', secret).update(body).digest()
  return digests.some((other) => timingSafeEqual(other, digest))
}

function changed(before: string, after: string): string | undefined {
  return before === after ? undefined : after
}
