/**
 * The mark of a probe: a message id under a reserved name, which only a holder of the pair can make. The key is the signing
 * secret where the pair has one, for the Auth Key stands in every callback that somebody on the way may have read.
 */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto'
import { PROBE_PREFIX } from '../authenticity/body.ts'
import type { LivePair } from '../authenticity/pair.ts'

const FORM = /^messaging-webhooks-doctor\.([0-9a-z]{1,11})\.([0-9a-f]{32})\.([0-9a-f]{64})$/

interface Mark {
  readonly sentAtMs: number
  /** Chosen at random, and good for one time. */
  readonly nonce: string
}

/** The message id, if it is a reserved one. */
export function markIn(fields: Readonly<Record<string, unknown>>): string | undefined {
  const { messageId } = fields
  return typeof messageId === 'string' && messageId.startsWith(PROBE_PREFIX) ? messageId : undefined
}

/** What a pair's probes are marked with. */
export function markingKey({ secretKey, authKey }: Pick<LivePair, 'secretKey' | 'authKey'>): KeyObject {
  return secretKey ?? createSecretKey(authKey ?? Buffer.alloc(0))
}

/** A new one. */
export function makeMark(key: KeyObject, sentAtMs: number): string {
  const time = sentAtMs.toString(36)
  const nonce = randomBytes(16).toString('hex')
  return `${PROBE_PREFIX}${time}.${nonce}.${tagOf(key, time, nonce).toString('hex')}`
}

/** Undefined where this key did not make it. */
export function readMark(messageId: string, key: KeyObject): Mark | undefined {
  const [, time, nonce, tag] = FORM.exec(messageId) ?? []
  if (time === undefined || nonce === undefined || tag === undefined) return undefined
  if (!timingSafeEqual(Buffer.from(tag, 'hex'), tagOf(key, time, nonce))) return undefined
  return { sentAtMs: parseInt(time, 36), nonce }
}

/** A callback's signature begins with digits, so neither can be taken for the other. */
function tagOf(key: KeyObject, time: string, nonce: string): Buffer {
  return createHmac('sha256', key).update(`messaging-webhooks doctor, probe\n${time}\n${nonce}`).digest()
}
