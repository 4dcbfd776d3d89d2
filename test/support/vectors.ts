/** Known answers: worked out by hand from the contract, never with the code under test. */
import { readFileSync } from 'node:fs'
import { createReceiver, type CallbackKind, type CallbackSchemas, type WebhookEvent } from 'messaging-webhooks'
import { signCallback } from 'messaging-webhooks/testing'
import { expect, onTestFinished } from 'vitest'
import type { z } from 'zod'
import type { OtherOptions } from '../../src/receiver/options.ts'
import { fileOf } from '../vectors/format.ts'
import { isFakeClock, letTimePass } from './fake-clock.ts'

/** Reads a table of the contract, `test/vectors/<name>.json`, which the schema validates. */
export function readTable<T>(name: string, schema: z.ZodType<T>): T {
  return schema.parse(JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8')))
}

/** The conformance vectors, by family. */
export const vectors = {
  proof: readTable('proof', fileOf('proof')).vectors,
  signature: readTable('signature', fileOf('signature')).vectors,
  normalisation: readTable('normalisation', fileOf('normalisation')).vectors,
  identity: readTable('identity', fileOf('identity')).vectors,
  sequences: readTable('sequences', fileOf('sequences')).vectors,
}
export type ProofVector = (typeof vectors.proof)[number]
export type NormalisationVector = (typeof vectors.normalisation)[number]
export type IdentityVector = (typeof vectors.identity)[number]
export type SequencesVector = (typeof vectors.sequences)[number]

/** The pair that proves the callbacks of families that do not test proofs. */
const PAIR = { authKey: 'auth-key-of-the-vectors', signingSecret: 'signing-secret-of-the-vectors' }

/** A proved callback in the format of the families. */
interface ProvedCallback {
  readonly kind?: CallbackKind | null
  readonly signedAt?: number | undefined
  readonly bodyBase64: string
}

/** A receiver until the test ends that accepts such callbacks, with the events it dispatches. */
export function taking(options: OtherOptions<CallbackSchemas>) {
  const receiver = createReceiver({ logger: false, ...options, credentials: PAIR })
  const dispatched: WebhookEvent[] = []
  receiver.onAny((event) => void dispatched.push(event))
  onTestFinished(async () => {
    const closed = receiver.close({ deadlineMs: 100 })
    if (isFakeClock(options.clock)) await letTimePass(options.clock, closed)
    await closed
  })
  async function take({ kind = 'status', signedAt, bodyBase64 }: ProvedCallback): Promise<void> {
    const body = Buffer.from(bodyBase64, 'base64')
    const headers: [string, string][] =
      signedAt === undefined
        ? []
        : [['x-service-signature', signCallback(body, PAIR.signingSecret, { timestamp: signedAt })]]
    const { status } = await receiver.receive({ kind: kind ?? undefined, method: 'POST', headers, body })
    expect(status).toBe(204)
  }
  return { receiver, dispatched, take }
}

/** The bytes of this body that an event contains. */
export function maskedBody({ bodyBase64 }: ProvedCallback): Buffer {
  const masked = Buffer.from(bodyBase64, 'base64')
  for (let at = masked.indexOf(PAIR.authKey); at !== -1; at = masked.indexOf(PAIR.authKey))
    masked.fill('*', at, at + PAIR.authKey.length)
  return masked
}

/** Every order of this many items, as lists of indexes. */
export function permutations(count: number): readonly (readonly number[])[] {
  if (count === 0) return [[]]
  return permutations(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, at) => [...order.slice(0, at), count - 1, ...order.slice(at)]),
  )
}
