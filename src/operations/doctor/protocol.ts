/**
 * Protocol of a probe and its answer.
 *
 * 1. A probe is an ordinary callback, so that it takes the same path: POST, JSON, the Auth Key in the body, the signature
 *    header. Only its message id differs: a reserved prefix, a time, a nonce, and an HMAC over both under each half of the pair.
 *    The service never creates such an id.
 * 2. The receiver looks for this mark only after the proof has succeeded. It refuses, times and quarantines an unproved probe
 *    with the code that handles a forgery, so an outsider cannot detect the doctor.
 * 3. A proved probe stops there: it is not an event, runs no handler, and is neither stored nor counted. Only an HMAC under a
 *    live pair makes a callback a probe. A callback that quotes a probe's id, or has an id in that form, is kept like any other.
 *    The half of the pair that proves a probe has also marked it, so no probe becomes a callback.
 * 4. A mark is valid once (the receiver remembers nonces) and for a day. A recorded probe is refused like a forgery. Another
 *    process of the same app does not know the nonce; a replay there yields only the sealed answer that was seen before.
 * 5. The answer is the usual 204 with a sealed report in one header: AES-256-GCM under a key derived from the pair and the
 *    message id. It describes how this probe arrived, and nothing about the app. Callbacks may use plain HTTP, and only a holder
 *    of the pair may read the report. Another handler's 204 has no such header.
 * 6. The signing secret seals the report if the pair has one, because every callback contains the Auth Key. A receiver with
 *    another signing secret and the right Auth Key seals under the Auth Key, and reports only that.
 * 7. A 401 gives no reason. In its own process, the receiver records why it refused a probe, and `receiver.doctor()` explains
 *    it.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto'
import { z } from 'zod'
import { PROBE_ID, PROBE_PREFIX, type ReadBody } from '../../verify/body.ts'
import type { LivePair } from '../../verify/pair.ts'
import type { ArrivedCallback } from '../../public/callback.ts'
import { CALLBACK_KINDS } from '../../public/events.ts'

/** The content of a probe's message id. */
export interface Mark {
  readonly sentAtMs: number
  /** Random and valid once. */
  readonly nonce: string
}

/** The keys that mark a pair's probes. The first, the signing secret if there is one, opens the whole answer. */
export function markingKeys({ secretKey, authKey }: Pick<LivePair, 'secretKey' | 'authKey'>): readonly KeyObject[] {
  return [secretKey, authKey && createSecretKey(authKey)].filter((key) => key !== undefined)
}

export function makeMark(keys: readonly KeyObject[], sentAtMs: number): string {
  const time = sentAtMs.toString(36)
  const nonce = randomBytes(16).toString('hex')
  const tags = keys.map((key) => tagOf(key, time, nonce).toString('hex'))
  return PROBE_PREFIX + [time, nonce, ...tags].join('.')
}

/** Undefined if no tag was made with this key. */
export function readMark(probeId: string, key: KeyObject): Mark | undefined {
  const { time, nonce, tags } = PROBE_ID.exec(probeId)?.groups ?? {}
  if (time === undefined || nonce === undefined || tags === undefined) return undefined
  const expected = tagOf(key, time, nonce)
  const holds = tags.split('.').some((tag) => timingSafeEqual(Buffer.from(tag, 'hex'), expected))
  return holds ? { sentAtMs: parseInt(time, 36), nonce } : undefined
}

/** The bytes under a callback's signature begin with digits, so neither HMAC passes as the other. */
function tagOf(key: KeyObject, time: string, nonce: string): Buffer {
  return createHmac('sha256', key).update(`messaging-webhooks doctor, probe\n${time}\n${nonce}`).digest()
}

const count = z.number().int().min(0)

const arrivalSchema = z.object({
  /** A parser consumed the bytes. `digest` and `bytes` then describe its serialised result. */
  isParsed: z.boolean(),
  bytes: count,
  /** SHA-256, in hexadecimal digits. */
  digest: z.string(),
  /** Number of signature headers. */
  headers: count,
  /** Digest of the values, joined by line ends. */
  headerDigest: z.string(),
})

/** How a probe arrived. */
export type Arrival = z.output<typeof arrivalSchema>

const factsSchema = z.object({
  arrival: arrivalSchema,
  arrivedAtMs: z.number(),
  /** The kind of the mount. */
  kind: z.enum(CALLBACK_KINDS).optional(),
  /** The receiver distinguishes projects, and the probe named none. */
  lacksProject: z.boolean(),
  proof: z.enum(['authKey', 'signature', 'both']),
  /** The receiver's pair that marked the probe. */
  pair: z.object({ hasAuthKey: z.boolean(), hasSecret: z.boolean(), endsAtMs: z.number().optional() }),
  toleranceSeconds: z.number(),
  maxBodyBytes: z.number(),
})

export type Facts = z.output<typeof factsSchema>

/** `onlyAuthKey`: only the Auth Key marked the probe, so the sender may be anyone who has read a callback. */
const reportSchema = z.union([factsSchema, z.object({ onlyAuthKey: z.literal(true) })])

type Report = z.output<typeof reportSchema>

export function arrivalOf(
  { captured, signatures }: Pick<ArrivedCallback, 'captured' | 'signatures'>,
  { bytes }: Pick<ReadBody, 'bytes'>,
): Arrival {
  return {
    isParsed: captured.kind !== 'exact',
    bytes: bytes.length,
    digest: digestOf(bytes),
    headers: signatures.length,
    headerDigest: headerDigestOf(signatures),
  }
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export function headerDigestOf(values: readonly string[]): string {
  return digestOf(Buffer.from(values.join('\n'), 'latin1'))
}

export const ANSWER_HEADER = 'x-messaging-webhooks-doctor'

const IV_BYTES = 12
const TAG_BYTES = 16

/** Seals a report, so that only the sender of this probe can open it. */
export function seal(report: Report, key: KeyObject, messageId: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', answerKey(key, messageId), iv)
  const sealed = [iv, cipher.update(JSON.stringify(report)), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(sealed).toString('base64url')
}

/** Undefined if no receiver with this key answered this probe, or if the form of its report differs. */
export function unseal(text: string, key: KeyObject, messageId: string): Report | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', answerKey(key, messageId), bytes.subarray(0, IV_BYTES))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
    return reportSchema.safeParse(JSON.parse(plain.toString())).data
  } catch {
    return undefined
  }
}

function answerKey(key: KeyObject, messageId: string): Buffer {
  return createHmac('sha256', key).update(`messaging-webhooks doctor, answer\n${messageId}`).digest()
}
