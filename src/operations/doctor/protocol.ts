/**
 * Protocol of a probe and its answer.
 *
 * 1. A probe is an ordinary callback, so that it takes the same path: POST, JSON, the Auth Key in the body, the signature
 *    header. Only its message id differs: a reserved prefix, a nonce, and an HMAC over it under each half of the pair. The
 *    service never creates such an id.
 * 2. The receiver looks for this mark only after the proof has succeeded. It refuses an unproved probe like a forgery, so an
 *    outsider cannot detect the doctor. It does not quarantine requests with an id in this form.
 * 3. A proved probe stops there: it is not an event, runs no handler, and is neither stored nor counted. Only an HMAC under a
 *    live pair makes a callback a probe. The half of the pair that proves a probe has also marked it, so no probe becomes a
 *    callback.
 * 4. The answer is the usual 204 with one more header: the receiver's time, and an HMAC over it, the message id and what the
 *    receiver observed. The doctor compares it with the HMAC of each possible observation, so only a holder of the pair can
 *    read that, and a replayed probe reveals only the time, as `Date` does. Another handler's 204 has no such header.
 * 5. The signing secret is the key of the answer if the pair has one, because every callback contains the Auth Key. A receiver
 *    with another signing secret and the right Auth Key answers under the Auth Key.
 * 6. A 401 gives no reason, except for a probe whose digest is right and whose time is not: only a holder of the pair made it,
 *    so the 401 has the header, and the doctor learns whose clock is wrong. In its own process, the receiver records how each
 *    probe arrived, and `receiver.doctor()` explains any 401.
 */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto'
import { PROBE_ID, PROBE_PREFIX, type ReadBody } from '../../verify/body.ts'
import type { LivePair } from '../../verify/credentials.ts'
import { CALLBACK_KINDS, type CallbackKind } from '../../public/events.ts'
import type { Proved } from '../../verify/authenticate.ts'
import type { NotProved } from '../../verify/explain.ts'
import type { ArrivedCallback } from '../../public/callback.ts'

export const ANSWER_HEADER = 'x-messaging-webhooks-doctor'

/**
 * How a pair proved a probe. `parsed`: a body parser ran before. `unsigned`: the receiver's pair has no signing secret.
 * `signature_invalid`, `auth_key_invalid`: the receiver's pair has this half, and only the other one proved the probe. `stale`:
 * the signature is right, but its time is too far off, so the receiver refused it.
 */
const OBSERVATIONS = ['intact', 'parsed', 'unsigned', 'signature_invalid', 'auth_key_invalid', 'stale'] as const

export type Observation = (typeof OBSERVATIONS)[number]

export interface Answer {
  readonly observation: Observation
  /** The kind of the mount. */
  readonly kind: CallbackKind | undefined
  /** False if the receiver knows only the Auth Key of the whole pair that sent the probe. */
  readonly isWhole: boolean
  /** The time at which the receiver saw the probe, in Unix seconds by its clock. */
  readonly atSeconds: number
}

/** The halves of a pair that sign and prove a probe. */
export type ProbePair = Pick<LivePair, 'authKey' | 'secretKey'>

/** The keys that mark a pair's probes: the signing secret first. */
function markingKeys({ secretKey, authKey }: ProbePair): readonly KeyObject[] {
  return [secretKey, authKey && createSecretKey(authKey)].filter((key) => key !== undefined)
}

export function makeProbeId(pair: ProbePair): string {
  const nonce = randomBytes(16).toString('hex')
  return PROBE_PREFIX + [nonce, ...markingKeys(pair).map((key) => tagOf(key, 'probe', nonce))].join('.')
}

function isMarkedWith(probeId: string, key: KeyObject): boolean {
  const { nonce = '', tags = '' } = PROBE_ID.exec(probeId)?.groups ?? {}
  const expected = tagOf(key, 'probe', nonce)
  return tags.split('.').some((tag) => isSame(tag, expected))
}

function writeAnswer(
  probeId: string,
  key: KeyObject,
  { observation, kind = 'any', at }: { observation: Observation; kind: CallbackKind | 'any' | undefined; at: string },
): string {
  return `${tagOf(key, 'answer', probeId, observation, kind, at)}.${at}`
}

/** Undefined if no receiver with a half of this pair wrote the answer to this probe. */
export function readAnswer(text: string, probeId: string, pair: ProbePair): Answer | undefined {
  const at = /\.(\d{1,12})$/.exec(text)?.[1]
  if (at === undefined) return undefined
  for (const [nth, key] of markingKeys(pair).entries())
    for (const observation of OBSERVATIONS)
      for (const kind of [undefined, ...CALLBACK_KINDS])
        if (isSame(text, writeAnswer(probeId, key, { observation, kind, at })))
          return { observation, kind, isWhole: nth === 0, atSeconds: Number(at) }
  return undefined
}

/** The bytes under a callback's signature begin with digits, so neither HMAC passes as the other. */
function tagOf(key: KeyObject, ...parts: readonly string[]): string {
  return createHmac('sha256', key)
    .update(['messaging-webhooks doctor', ...parts].join('\n'))
    .digest('hex')
}

function isSame(given: string, expected: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}

/** How a probe arrived in this process. */
export interface SeenProbe {
  /** Undefined if it was proved. */
  readonly refused: NotProved | undefined
  readonly isParsed: boolean
  readonly bytes: Buffer
  readonly signatures: readonly string[]
}

export type Probes = ReturnType<typeof createProbes>

/** The receiver's side: answers proved probes, and records how those of this process arrived. */
export function createProbes() {
  /** Probes of the doctors in this process. */
  const expected = new Map<string, SeenProbe | undefined>()

  function see(
    { captured, signatures }: ArrivedCallback,
    { probeId = '', bytes }: ReadBody,
    refused?: NotProved,
  ): void {
    if (expected.has(probeId))
      expected.set(probeId, { refused, isParsed: captured.kind === 'parsed', bytes, signatures })
  }

  return {
    /**
     * Headers of the answer to a probe that is proved, or whose time alone is wrong. Undefined if no live pair marked the
     * callback: then it is a callback, whatever its message id is.
     */
    answer(callback: ArrivedCallback, body: ReadBody, proof: Proved | NotProved): Record<string, string> | undefined {
      const { probeId } = body
      if (!proof.proved && proof.offsetSeconds === undefined) return undefined
      const marked = probeId === undefined ? undefined : findMark(probeId, proof.pairs ?? [], callback.arrivedAtMs)
      if (probeId === undefined || marked === undefined) return undefined
      if (proof.proved) see(callback, body)
      const observation = observe(callback, proof, marked.pair)
      const at = String(Math.floor(callback.arrivedAtMs / 1_000))
      return { [ANSWER_HEADER]: writeAnswer(probeId, marked.key, { observation, kind: callback.kind, at }) }
    },
    refused: see,
    /** Announces a probe of this process. Call the result once: it returns how the probe arrived, if it did. */
    expect(probeId: string): () => SeenProbe | undefined {
      expected.set(probeId, undefined)
      return () => {
        const seen = expected.get(probeId)
        expected.delete(probeId)
        return seen
      }
    },
  }
}

/** The pair that marked a probe, and the key used: the first of its keys, if any pair allows that. */
function findMark(
  probeId: string,
  pairs: readonly LivePair[],
  nowMs: number,
): { readonly pair: LivePair; readonly key: KeyObject } | undefined {
  const live = pairs.filter(({ notAfterMs }) => nowMs <= notAfterMs)
  for (const nth of [0, 1])
    for (const pair of live) {
      const key = markingKeys(pair)[nth]
      if (key !== undefined && isMarkedWith(probeId, key)) return { pair, key }
    }
  return undefined
}

function observe(
  { captured }: ArrivedCallback,
  proved: Proved | NotProved,
  { authKey, secretKey }: LivePair,
): Observation {
  if (!proved.proved) return 'stale'
  if (captured.kind === 'parsed') return 'parsed'
  const { proof } = proved
  if (proof === 'authKey') return secretKey === undefined ? 'unsigned' : 'signature_invalid'
  return proof === 'signature' && authKey !== undefined ? 'auth_key_invalid' : 'intact'
}
