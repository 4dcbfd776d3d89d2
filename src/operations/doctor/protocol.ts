/**
 * What a probe and its answer look like.
 *
 * 1. A probe is an ordinary callback, so that it takes the same path: POST, JSON, the Auth Key in the body, the signature
 *    header. Only its message id differs: a reserved prefix, a time, a nonce, and an HMAC over both under each half of the pair.
 *    The service makes no such id.
 * 2. The receiver looks for this mark after the proof has held, never before. It therefore answers, times and quarantines an
 *    unproved probe with the code that handles a forgery, and no outsider can find out whether there is a doctor.
 * 3. A proved probe goes no further: it is no event, no handler gets it, nothing is stored or counted. Only an HMAC under a live
 *    pair makes a callback a probe; a callback that quotes one, or has an id in its form, is kept as any other. The half of the
 *    pair that proves a probe has also marked it, so no probe is taken for a callback.
 * 4. A mark is good once (the receiver remembers nonces) and for a day. A recorded probe is answered as a forgery is. Another
 *    process of the same app does not know the nonce; a replay there yields only the sealed answer that was seen before.
 * 5. The answer is the usual 204 with a sealed report in one header: AES-256-GCM under a key made of the pair and the message id.
 *    It says how this probe arrived, and nothing of the app. Callbacks may come over plain HTTP, and only a holder of the pair may
 *    read it. Another handler's 204 has no such header.
 * 6. The signing secret seals the report where the pair has one, because the Auth Key stands in every callback. A receiver with
 *    another signing secret and the right Auth Key answers under the Auth Key, and says only that.
 * 7. A 401 gives no reason. In the receiver's own process, the receiver remembers why it refused a probe, and `receiver.doctor()`
 *    explains it.
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

/** What the message id of a probe says. */
export interface Mark {
  readonly sentAtMs: number
  /** Random; valid once. */
  readonly nonce: string
}

/** The keys that a pair's probes are marked with. The first, the signing secret where there is one, opens the whole answer. */
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

/** The bytes that a callback's signature covers begin with digits, so neither HMAC passes for the other. */
function tagOf(key: KeyObject, time: string, nonce: string): Buffer {
  return createHmac('sha256', key).update(`messaging-webhooks doctor, probe\n${time}\n${nonce}`).digest()
}

const count = z.number().int().min(0)

const arrivalSchema = z.object({
  /** A parser left no bytes; digest and length are of what it left, serialised. */
  isParsed: z.boolean(),
  bytes: count,
  /** SHA-256, in hexadecimal digits. */
  digest: z.string(),
  /** Number of signature headers. */
  headers: count,
  /** Of their values, joined by a line end. */
  headerDigest: z.string(),
})

/** How a probe arrived. */
export type Arrival = z.output<typeof arrivalSchema>

const factsSchema = z.object({
  arrival: arrivalSchema,
  arrivedAtMs: z.number(),
  /** The kind that the middleware was mounted with. */
  kind: z.enum(CALLBACK_KINDS).optional(),
  /** The receiver tells projects apart, and the probe named none. */
  lacksProject: z.boolean(),
  proof: z.enum(['authKey', 'signature', 'both']),
  /** The receiver's pair that the probe was marked with. */
  pair: z.object({ hasAuthKey: z.boolean(), hasSecret: z.boolean(), endsAtMs: z.number().optional() }),
  toleranceSeconds: z.number(),
  maxBodyBytes: z.number(),
})

/** What a receiver says of a probe. */
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

/** Carries the sealed report. */
export const ANSWER_HEADER = 'x-messaging-webhooks-doctor'

const IV_BYTES = 12
const TAG_BYTES = 16

/** Only the sender of this probe can open it. */
export function seal(report: Report, key: KeyObject, messageId: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', answerKey(key, messageId), iv)
  const sealed = [iv, cipher.update(JSON.stringify(report)), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(sealed).toString('base64url')
}

/** Undefined if no receiver with this key has answered this probe, or one of another version. */
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
