/**
 * The mark of a probe: a message id under a reserved name, with an HMAC under each half of the pair. Whatever half proves the
 * probe to the receiver, the receiver can also tell that it is a probe.
 */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto'
import { PROBE_ID, PROBE_PREFIX } from '../authenticity/body.ts'
import type { LivePair } from '../authenticity/pair.ts'

/** What a message id of a probe says. */
export interface Mark {
  readonly sentAtMs: number
  /** Chosen at random; valid once. */
  readonly nonce: string
}

/**
 * The keys that a pair's probes are marked with. The first is the signing secret where the pair has one: it is never sent, so
 * only this key opens the whole answer. The Auth Key stands in every callback, and whoever reads one on the way has it.
 */
export function markingKeys({ secretKey, authKey }: Pick<LivePair, 'secretKey' | 'authKey'>): readonly KeyObject[] {
  return [secretKey, authKey && createSecretKey(authKey)].filter((key) => key !== undefined)
}

/** A new one. */
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

/** A callback's signature begins with digits, so neither can be taken for the other. */
function tagOf(key: KeyObject, time: string, nonce: string): Buffer {
  return createHmac('sha256', key).update(`messaging-webhooks doctor, probe\n${time}\n${nonce}`).digest()
}
