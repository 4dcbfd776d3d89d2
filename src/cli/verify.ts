/** `verify`: explains step by step why a signature holds or not. */
import { buffer } from 'node:stream/consumers'
import { createSecretKey } from 'node:crypto'
import { z } from 'zod'
import { systemClock } from '../runtime/clock.ts'
import { isRecord, parsedJson } from '../runtime/values.ts'
import {
  command,
  flag,
  readBy,
  toggle,
  usage,
  wholeNumber,
  EXIT_CODES,
  neededSigningSecret,
  readNamedFile,
  secretFile,
} from './command.ts'
import { count } from './terminal.ts'
import { readSignatureHeader, signatureHolds, type ParsedSignature } from '../verify/authenticate.ts'
import { mistakesIn, mistakesShownBy } from '../verify/mistaken-secrets.ts'

const DAY_SECONDS = 86_400

export const { define } = command({
  flags: {
    signingSecret: secretFile('SIGNING_SECRET'),
    header: flag('--header <value>', 'the value of X-Service-Signature', z.string()),
    body: flag('--body <path>', 'a file with the exact body; default: the standard input', z.string().optional()),
    at: flag(
      '--at <time>',
      'check its age at this time (Unix seconds, or a date); default: now',
      readBy('Expected Unix seconds, or a date such as 2026-01-31T12:00:00Z.', (text) =>
        /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : Date.parse(text),
      ).optional(),
    ),
    toleranceSeconds: flag(
      '--tolerance <seconds>',
      'maximum difference between t and that time',
      wholeNumber(0, DAY_SECONDS).default(300),
    ),
    json: toggle('--json', 'print the verdict as one line of JSON'),
  },
  notes: `Example:\n  SIGNING_SECRET=… messaging-webhooks verify --header 't=…,v1=…' < body.json`,
  async run({ signingSecret, header, body, at, toleranceSeconds, json }, { print, printJson, colours }) {
    const secret = neededSigningSecret(signingSecret)
    const nowMs = at ?? systemClock().now()
    const verdict = checkSignature({ header, body: await readBody(body), secret, nowMs, toleranceSeconds })
    const { holds, steps, causes } = verdict
    process.exitCode = EXIT_CODES[holds ? 'ok' : 'notProved'].code
    if (json) {
      printJson(verdict)
      return
    }
    const { green, red, bold } = colours
    for (const { step, holds: isRight, text } of steps)
      print(`${isRight ? green('✓') : red('✗')} ${bold(step.padEnd(6))} ${text}`)
    for (const cause of causes) print(`→ ${cause}`)
    print(holds ? green('The signature holds.') : red('The signature does not hold.'))
  },
})

async function readBody(path: string | undefined): Promise<Buffer> {
  if (path !== undefined) return readNamedFile(path, 'The file of the body')
  if (process.stdin.isTTY)
    throw usage('No body was given.', 'Pass it on the standard input, `< body.json`, or with --body.')
  return buffer(process.stdin)
}

interface Step {
  readonly step: 'header' | 'age' | 'body' | 'digest'
  readonly holds: boolean
  readonly text: string
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

/**
 * Checks form, age and digest independently, so that all problems are reported at once. Never reveals a valid digest. Contract,
 * service.md#callback-authenticity.
 */
export function checkSignature({ header, body, secret, nowMs, toleranceSeconds }: SignatureInput) {
  // Users may copy the whole header line.
  const parsed = readSignatureHeader([header.trim().replace(/^x-service-signature:\s*/i, '')])
  if (typeof parsed !== 'object') {
    const text = parsed === undefined ? 'The header is empty.' : MALFORMED[parsed]
    const causes = ['Copy the whole value of X-Service-Signature, in quotation marks.']
    const steps: readonly Step[] = [{ step: 'header', holds: false, text }]
    return { holds: false, steps, causes }
  }
  const digest = holdsWith(parsed, secret, body)
  const digests = count(parsed.digests.length, 'v1 digest')
  const steps: readonly Step[] = [
    { step: 'header', holds: true, text: `t is ${parsed.timestampText}, with ${digests}.` },
    ageStep(parsed, nowMs, toleranceSeconds),
    {
      step: 'body',
      holds: true,
      text: `${count(body.length, 'byte')}${parsedJson(body.toString()) === undefined ? '; it is not JSON' : ' of JSON'}.`,
    },
    {
      step: 'digest',
      holds: digest,
      text: `HMAC-SHA256 over “${parsed.timestampText}.” and the ${count(body.length, 'byte')} of the body, keyed with the secret, ${digest ? 'matches' : 'does not match'} the header.`,
    },
  ]
  return { holds: steps.every(({ holds }) => holds), steps, causes: digest ? [] : findCauses(parsed, body, secret) }
}

function holdsWith(signature: ParsedSignature, secret: string, body: Buffer): boolean {
  return signatureHolds(signature, createSecretKey(Buffer.from(secret, 'utf8')), body)
}

function ageStep({ timestamp }: ParsedSignature, nowMs: number, toleranceSeconds: number): Step {
  const offset = Math.floor(nowMs / 1_000) - timestamp
  const where =
    offset === 0 ? 'from this second' : `${count(Math.abs(offset), 'second')} ${offset > 0 ? 'old' : 'in the future'}`
  const holds = Math.abs(offset) <= toleranceSeconds
  const text = `The signature is ${where}; ${toleranceSeconds} are allowed.`
  const next = ' Likely an old request, a replay, or a wrong clock. Pass `--at` to check it at another time.'
  return { step: 'age', holds, text: holds ? text : text + next }
}

const RAW_BODY =
  'the body was parsed and serialised again. Check the signature over the raw body, before any parser (mount the receiver before express.json()).'

/** Common changes of a body, undone. Newlines come first, because serialising again also removes them. */
const BODIES: readonly (readonly [cause: string, undo: (body: string) => string])[] = [
  [
    'a trailing newline was added to the body, for example by `echo`, an editor or a log. Send the original bytes, with `printf` or curl’s --data-binary.',
    (body) => body.replace(/\r?\n$/, ''),
  ],
  ['the body lost its trailing newline: something trimmed it, as curl’s --data does.', (body) => `${body}\n`],
  [
    'line ends were changed from LF to CRLF, by an editor or a copy in text mode.',
    (body) => body.replaceAll('\r\n', '\n'),
  ],
  // The byte order mark, in Latin-1.
  ['a byte order mark was prepended to the body.', (body) => body.replace(/^\u00ef\u00bb\u00bf/, '')],
  [RAW_BODY, (body) => rewritten(body)],
  [RAW_BODY, (body) => rewritten(body, 2)],
]

function rewritten(body: string, indent?: number): string {
  const value = parsedJson(Buffer.from(body, 'latin1').toString())
  if (value === undefined) return body
  try {
    return Buffer.from(JSON.stringify(value, undefined, indent)).toString('latin1')
  } catch {
    // The body is nested too deeply for `stringify`.
    return body
  }
}

const LEFT = [
  'No correction of a common mistake verifies it. The secret is probably wrong: another project’s, or one from before a rotation.',
  'Otherwise the body differs from the signed one. Check the original bytes, unparsed and uncompressed.',
] as const

/** The changes that make the digest valid, each tried alone; otherwise the remaining causes. */
function findCauses(signature: ParsedSignature, body: Buffer, secret: string): readonly string[] {
  // Every byte is a character of Latin-1.
  const text = body.toString('latin1')
  const change = BODIES.find(([, undo]) => holdsWith(signature, secret, Buffer.from(undo(text), 'latin1')))
  const fields = parsedJson(body.toString())
  const authKey = isRecord(fields) ? fields['authKey'] : undefined
  const pair = { signingSecret: secret, authKey: undefined }
  const found = [
    ...(change === undefined ? [] : [`Found: ${change[0]}`]),
    ...mistakesShownBy({ signature, authKey, bytes: body }, pair),
  ]
  const visible = mistakesIn(secret).map((mistake) => `Your signing secret ${mistake}.`)
  return found.length > 0 ? found : [...visible, ...LEFT]
}
