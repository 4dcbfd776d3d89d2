/** Why a digest may be wrong: the usual mistakes, each tried out. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { signatureHolds, type ParsedSignature } from '../authenticity/signature.ts'

/** A body that somebody changed on its way, and who does that. */
const OTHER_BODIES: readonly (readonly [cause: string, change: (body: Buffer) => Buffer | undefined])[] = [
  [
    'a trailing newline was added to the body: `echo`, an editor or a log did it. Send the bytes as they came, with `printf` or curl’s --data-binary.',
    (body) => (body.at(-1) === 0x0a ? body.subarray(0, body.at(-2) === 0x0d ? -2 : -1) : undefined),
  ],
  [
    'the body lost its trailing newline: something trimmed it, as curl’s --data does.',
    (body) => Buffer.concat([body, Buffer.from('\n')]),
  ],
  [
    'line ends were changed from LF to CRLF: an editor or a copy in text mode did it.',
    (body) =>
      body.includes('\r\n') ? Buffer.from(body.toString('latin1').replaceAll('\r\n', '\n'), 'latin1') : undefined,
  ],
  [
    'a byte order mark was added in front of the body.',
    (body) => (body.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? body.subarray(3) : undefined),
  ],
  [
    'the body was parsed and re-serialised: check the signature over the raw body, before any parser (mount the receiver before express.json()).',
    (body) => reserialised(body, (value) => JSON.stringify(value)),
  ],
  [
    'the body was re-serialised with spaces after commas and colons, as Python’s json.dumps writes it: check the signature over the raw body.',
    (body) => reserialised(body, spaced),
  ],
  [
    'the body was re-serialised over several lines: check the signature over the raw body, not over what a log or a formatter shows.',
    (body) => reserialised(body, (value) => JSON.stringify(value, undefined, 2)),
  ],
  [
    'the authKey was taken out of the body: the signature is over the body as it came, the authKey included. It was signed without one.',
    (body) => reserialised(body, withoutAuthKey),
  ],
]

/** A secret that was copied wrongly. */
const OTHER_SECRETS: readonly (readonly [cause: string, change: (secret: string) => string | Buffer | undefined])[] = [
  [
    'the secret has white space at an end: trim it (a line end from a file?).',
    (secret) => changed(secret, secret.trim()),
  ],
  ['the secret was made with a line end behind it.', (secret) => `${secret}\n`],
  [
    'the secret stands in quotation marks: leave them out.',
    (secret) => changed(secret, secret.replace(/^(["'])(.*)\1$/, '$2')),
  ],
  [
    'the secret was decoded from hex before it was used.',
    (secret) => (/^([0-9a-f]{2})+$/i.test(secret) ? Buffer.from(secret, 'hex') : undefined),
  ],
  [
    'the secret was decoded from base64 before it was used.',
    (secret) => (/^[\w+/-]{8,}={0,2}$/.test(secret) ? Buffer.from(secret, 'base64') : undefined),
  ],
]

/** What would make the digest right, each mistake alone; where none does, what is left. */
export function findCauses(signature: ParsedSignature, body: Buffer, secret: string): readonly string[] {
  const holds = (key: string | Buffer, bytes: Buffer): boolean =>
    signatureHolds(signature, createSecretKey(typeof key === 'string' ? Buffer.from(key) : key), bytes)
  const found: string[] = []
  // The first that explains it: re-serialising undoes a trailing newline, too.
  const changedBody = OTHER_BODIES.find(([, change]) => {
    const other = change(body)
    return other !== undefined && !other.equals(body) && holds(secret, other)
  })
  if (changedBody !== undefined) found.push(`It would hold if undone: ${changedBody[0]}`)
  for (const [cause, change] of OTHER_SECRETS) {
    const other = change(secret)
    if (other !== undefined && other.length > 0 && holds(other, body)) found.push(`Found: ${cause}`)
  }
  if (isOverBodyAlone(signature, body, secret))
    found.push('Found: the digest is over the body alone; t and a period belong before it.')
  return found.length > 0 ? found : LEFT
}

const LEFT = [
  'None of the usual mistakes explains it, so it is most likely a wrong secret: another project’s, or one from before a rotation.',
  'Else the body is not the one that was signed: these bytes, unparsed and uncompressed, are what counts.',
] as const

function isOverBodyAlone({ digests }: ParsedSignature, body: Buffer, secret: string): boolean {
  const digest = createHmac('sha256', secret).update(body).digest()
  return digests.some((other) => timingSafeEqual(other, digest))
}

function reserialised(body: Buffer, write: (value: unknown) => string | undefined): Buffer | undefined {
  try {
    const text = write(JSON.parse(body.toString()))
    return text === undefined ? undefined : Buffer.from(text)
  } catch {
    return undefined
  }
}

function withoutAuthKey(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'authKey')) return undefined
  return JSON.stringify({ ...value, authKey: undefined })
}

/** JSON on one line with a space after each comma and colon. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, item]) => `${JSON.stringify(key)}: ${spaced(item)}`)
      .join(', ')}}`
  return JSON.stringify(value)
}

function changed(before: string, after: string): string | undefined {
  return before === after ? undefined : after
}
