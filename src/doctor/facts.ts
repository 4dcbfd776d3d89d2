/** What a receiver says to a probe, as plain data: how the probe arrived, what the receiver is set to, and how its app is. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { ReadBody } from '../authenticity/body.ts'
import { PROOF_POLICIES, type ArrivedCallback } from '../callback.ts'
import { CALLBACK_KINDS } from '../events.ts'

const count = z.number().int().min(0)

const arrivalSchema = z.object({
  /** A parser had left no bytes; those that follow are made of what it left. */
  isParsed: z.boolean(),
  bytes: count,
  /** SHA-256, in hexadecimal digits. */
  digest: z.string(),
  /** How often the signature header was there. */
  headers: count,
  /** Of its values, joined by a line end. */
  headerDigest: z.string(),
})

/** How a probe arrived. */
export type Arrival = z.output<typeof arrivalSchema>

const appSchema = z.object({
  isProduction: z.boolean(),
  store: z.object({
    name: z.string(),
    isDurable: z.boolean(),
    /** Why it cannot be used; absent where it answers. */
    code: z.string().optional(),
  }),
  /** The store is one that may be away, and there is no folder for what comes meanwhile. */
  lacksSpool: z.boolean(),
  /** Types of the URL's kind that no handler listens to; none where the handlers run elsewhere. */
  unhandled: z.array(z.string()),
  isAnyHandled: z.boolean(),
  /** Networks that came with words of nobody's table, and that `networks` does not name. */
  networks: z.array(z.string()),
  /** The shortest `keepAliveTimeout` of the servers that requests came from. */
  keepAliveMs: z.number().optional(),
})

/** How the app is that the receiver is part of. */
export type AppFacts = z.output<typeof appSchema>

const factsSchema = z.object({
  arrival: arrivalSchema,
  arrivedAtMs: z.number(),
  /** What the middleware was mounted with. */
  kind: z.enum(CALLBACK_KINDS).optional(),
  /** The receiver tells projects apart, and the probe named none. */
  lacksProject: z.boolean(),
  policy: z.enum(PROOF_POLICIES),
  proof: z.enum(['authKey', 'signature', 'both']),
  /** The receiver's pair that the probe was marked with. */
  pair: z.object({ hasAuthKey: z.boolean(), hasSecret: z.boolean(), endsAtMs: z.number().optional() }),
  toleranceSeconds: z.number(),
  maxBodyBytes: z.number(),
  app: appSchema,
})

/** All that a receiver says. */
export type Facts = z.output<typeof factsSchema>

const reportSchema = z.union([factsSchema, z.object({ onlyAuthKey: z.literal(true) })])

/**
 * The answer to a probe. Where the receiver's pair has a signing secret and only the Auth Key marked the probe, the answer says
 * so and nothing else: the sender may be anyone who has read a callback.
 */
export type Report = z.output<typeof reportSchema>

/** Undefined if the value is no report. Another version's may not be. */
export function readReport(value: unknown): Report | undefined {
  return reportSchema.safeParse(value).data
}

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
