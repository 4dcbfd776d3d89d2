/**
 * The format of the conformance vectors. The types, the published JSON Schema, the tables of the guide and the check of the
 * files derive from it.
 */
import { z } from 'zod'
import { PROOF_POLICIES } from '../public/callback.ts'
import type { RefusalCode } from '../public/error-table.ts'
import {
  CALLBACK_KINDS,
  CARRIERS,
  EVENT_TYPES,
  FAILURE_CAUSES,
  type CallbackAnomaly,
  type CallbackProblem,
} from '../public/events.ts'

/** Version of the format. Increased when a reader of the previous version would misinterpret something. */
const VECTORS_VERSION = 1

const REASONS = [
  'signature_missing',
  'signature_malformed',
  'signature_milliseconds',
  'signature_mismatch',
  'signature_stale',
  'auth_key_malformed',
  'auth_key_mismatch',
  'auth_key_missing',
  'signature_required',
  'project_unknown',
  'project_ambiguous',
  'content_encoding',
] as const satisfies readonly RefusalCode[]

const UNREADABLE = [
  'empty_body',
  'not_json',
  'double_encoded',
  'not_an_object',
  'too_deep',
  'no_message_id',
  'no_status',
  'unknown_status',
  'several_statuses',
  'unknown_shape',
] as const satisfies readonly CallbackProblem[]

const ODD = [
  'duplicate_key',
  'timestamp_in_milliseconds',
  'timestamp_out_of_range',
  'timestamp_unreadable',
  'inexact_id',
  'unknown_word',
] as const satisfies readonly CallbackAnomaly[]

const unixSeconds = z.int().min(0)
const name = z.string().min(1).describe('What is tried; no two of a family share a name')
const decidedBy = z
  .enum(['service', 'package'])
  .describe('`service`: the answer follows from its documentation; `package`: that is silent, and this is our reading')
const clock = z.number().min(0).describe('The receiver’s own clock, in Unix seconds, to the millisecond')
const bodyBase64 = z.base64().describe('The exact bytes of the body, in base64')
const signedAt = unixSeconds
  .optional()
  .describe('The `t` of the signature that proves it; absent where the authKey in the body does')
const kind = z
  .enum(CALLBACK_KINDS)
  .nullable()
  .describe('What the URL is for; null where reports are recognised by their shape')
const arrival = z.int().min(0).describe('The place in `arrivals`, from 0')

const pair = z.strictObject({
  project: z.string().optional().describe('Whose it is; absent where there is one project, whatever its name'),
  authKey: z.string().min(1).optional().describe('The live authKey, if there is one'),
  signingSecret: z.string().min(1).optional().describe('In UTF-8 the key of the HMAC, if there is one'),
})

const accepted = z.strictObject({
  verdict: z.literal('accepted').describe('Taken; with `proof`, `project` and `reported`'),
  proof: z.enum(['authKey', 'signature', 'both']).describe('What held'),
  project: z.string().nullable().describe('The project that was proved; null where neither pair nor body tells'),
  reported: z.literal('signature_ignored').optional().describe('There was a signature, too, and it did not hold'),
})

const refused = z.strictObject({
  verdict: z.literal('refused').describe('Not taken; with `reason`'),
  reason: z.enum(REASONS).describe('The likeliest single cause, by its code in the page of errors'),
})

export const proofVector = z
  .strictObject({
    name,
    decidedBy,
    clock,
    policy: z.enum(PROOF_POLICIES).describe('Which proofs the URL asks for'),
    pairs: z.array(pair).min(1).describe('The live pairs; several of one project are a rotation'),
    headers: z
      .array(z.tuple([z.string(), z.base64()]))
      .describe(
        'Pairs of a name and, in base64, a value, as they came: repeated, and without white space round the value',
      ),
    bodyBase64,
    expected: z.discriminatedUnion('verdict', [accepted, refused]),
  })
  .meta({ id: 'proof' })

export const signatureVector = z
  .strictObject({
    name,
    decidedBy,
    signingSecret: z.string().min(1).describe('In UTF-8 the key of the HMAC'),
    t: unixSeconds.describe('The time of the header'),
    bodyBase64,
    v1: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe('HMAC-SHA256 over `t` in decimal digits, a period and the body'),
  })
  .meta({ id: 'signature' })

const failure = z.strictObject({
  kind: z.enum(['transient', 'permanent', 'unreachable']).describe('What kind of failure'),
  resend: z.boolean().describe('Whether the service recommends to send again'),
  cause: z.enum(FAILURE_CAUSES).describe('The service’s word for it'),
  reason: z.string().optional().describe('The carrier’s or provider’s own words'),
  code: z.string().optional().describe('The `status_code` of carrier B'),
})

export const normalisationVector = z
  .strictObject({
    name,
    decidedBy,
    clock,
    kind,
    networks: z.record(z.string(), z.enum(CARRIERS)).describe('Whose the networks are, by their names in callbacks'),
    signedAt,
    bodyBase64,
    expected: z.strictObject({
      type: z.enum(EVENT_TYPES).describe('The event'),
      problem: z.enum(UNREADABLE).optional().describe('Why it is `unrecognized`'),
      shape: z.enum(['sms', 'chat-app']).optional().describe('Which of the two delivery callbacks'),
      messageId: z.string().optional().describe('As text, also where it was sent as a number'),
      channel: z.string().optional().describe('As it was sent'),
      network: z.string().optional().describe('As it was sent'),
      carrier: z.enum(CARRIERS).optional().describe('Where the network or the word tells'),
      recipient: z.string().optional().describe('As it was sent'),
      status: z.string().optional().describe('The word as it was sent'),
      statusCode: z.int().optional().describe('The code of the table, sent as a code or as its word'),
      scheduled: z.boolean().optional().describe('With `message.queued`: planned for later'),
      failure: failure.optional().describe('With `message.failed`'),
      word: z.string().optional().describe('With `subscription.other`: what was sent'),
      oddities: z.array(z.enum(ODD)).optional().describe('What was odd, sorted'),
      timestamp: unixSeconds.nullable().describe('When it happened; null where nothing tells'),
      timestampSource: z.enum(['payload', 'signature', 'arrival']).describe('What tells'),
    }),
  })
  .meta({ id: 'normalisation' })

export const identityVector = z
  .strictObject({
    name,
    decidedBy,
    clock,
    groups: z
      .array(z.array(z.strictObject({ kind, signedAt, bodyBase64 })).min(1))
      .min(1)
      .describe('Callbacks of one group are one event, those of two groups are two'),
  })
  .meta({ id: 'identity' })

const handed = z.strictObject({
  arrival,
  at: clock.describe('When it is dispatched, in Unix seconds; up to a tenth of a second later is accepted'),
  late: z.boolean().describe('Whether a later report was dispatched before'),
})

const state = z.strictObject({
  messageId: z.string().describe('Of which message'),
  newest: z.array(arrival).min(1).describe('The newest report; of several, any one'),
  finals: z.array(arrival).describe('All final reports, in order; where `newest` has several, in any order'),
})

export const sequencesVector = z
  .strictObject({
    name,
    decidedBy,
    gapSeconds: z.number().min(0).describe('How long a chat-app report waits for the one before it'),
    arrivals: z
      .array(z.strictObject({ at: clock.describe('When it comes, in Unix seconds'), signedAt, bodyBase64 }))
      .min(1)
      .describe('Delivery reports as they come; handlers succeed at once'),
    expected: z.strictObject({
      handed: z.array(handed).describe('What handlers get, in this order; no repetition is among it'),
      states: z.array(state).min(1).describe('What is known of each message in the end'),
      anyOrder: z.boolean().describe('Whether that is so, too, when the callbacks change places among the arrivals'),
    }),
  })
  .meta({ id: 'sequences' })

const $schema = z.literal('./schema.json').describe('The JSON Schema of all of these files')
const version = z.literal(VECTORS_VERSION).describe('Of the format')

/** All families in one file. */
export const everyFamily = z.strictObject({
  $schema,
  version,
  proof: z.array(proofVector).min(1),
  signature: z.array(signatureVector).min(1),
  normalisation: z.array(normalisationVector).min(1),
  identity: z.array(identityVector).min(1),
  sequences: z.array(sequencesVector).min(1),
})

const { proof, signature, normalisation, identity, sequences } = everyFamily.shape

/** A file of one family. */
const oneFamily = z.discriminatedUnion('family', [
  z.strictObject({ $schema, version, family: z.literal('proof'), vectors: proof }),
  z.strictObject({ $schema, version, family: z.literal('signature'), vectors: signature }),
  z.strictObject({ $schema, version, family: z.literal('normalisation'), vectors: normalisation }),
  z.strictObject({ $schema, version, family: z.literal('identity'), vectors: identity }),
  z.strictObject({ $schema, version, family: z.literal('sequences'), vectors: sequences }),
])

/** The content of `schema.json`, in draft 2020-12. */
export function vectorsJsonSchema(): object {
  const title = 'Conformance vectors of messaging-webhooks: a file of one family, or all of them in one'
  return z.toJSONSchema(z.union([everyFamily, oneFamily]).meta({ title }), {
    target: 'draft-2020-12',
    override({ jsonSchema }) {
      // Not a standard format: strict validators reject it. The pattern expresses the same.
      if (jsonSchema.format === 'base64') delete jsonSchema.format
    },
  })
}
