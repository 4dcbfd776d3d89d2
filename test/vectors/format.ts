/** The format of the conformance vectors. Their types, the tables of the reference and the check of the files derive from it. */
import { z } from 'zod'
import { PROOF_POLICIES } from '../../src/public/callback.ts'
import { REFUSED } from '../../src/public/error-table.ts'
import { ANOMALIES, CALLBACK_KINDS, CARRIERS, EVENT_TYPES, FAILURE_CAUSES, PROBLEMS } from '../../src/public/events.ts'
import { keysOf } from '../../src/runtime/values.ts'

/** Version of the format. Increased when a reader of the previous version would misinterpret something. */
const VECTORS_VERSION = 1

const unixSeconds = z.int().min(0)
const name = z.string().min(1).describe('The case; unique within a family')
const decidedBy = z
  .enum(['service', 'package'])
  .describe(
    '`service`: the answer follows from the service’s documentation; `package`: the documentation is silent, and the answer is our choice',
  )
const clock = z.number().min(0).describe('The receiver’s clock, in Unix seconds, to the millisecond')
const bodyBase64 = z.base64().describe('The exact bytes of the body, in base64')
const signedAt = unixSeconds
  .optional()
  .describe('The `t` of the signature; absent if the authKey in the body is the proof')
const kind = z
  .enum(CALLBACK_KINDS)
  .nullable()
  .describe('The kind of the URL; null if it recognises reports by their shape')
const arrivedAt = clock.optional().describe('The time of arrival, in Unix seconds; absent if it is `clock`')
const arrival = z.int().min(0).describe('The index in `arrivals`, from 0')

const pair = z.strictObject({
  project: z.string().optional().describe('The project; absent if there is only one'),
  authKey: z.string().min(1).optional().describe('The live authKey'),
  signingSecret: z.string().min(1).optional().describe('The key of the HMAC, in UTF-8'),
})

const accepted = z.strictObject({
  verdict: z.literal('accepted').describe('Accepted; with `proof`, `project` and `reported`'),
  proof: z.enum(['authKey', 'signature', 'both']).describe('The valid proofs'),
  project: z.string().nullable().describe('The proved project; null if neither the pair nor the body names one'),
  reported: z.literal('signature_ignored').optional().describe('An invalid signature was present too'),
})

const refused = z.strictObject({
  verdict: z.literal('refused').describe('Refused; with `reason`'),
  reason: z.enum(keysOf(REFUSED)).describe('The most likely cause: a code of the errors page'),
})

const proofVector = z
  .strictObject({
    name,
    decidedBy,
    clock,
    policy: z.enum(PROOF_POLICIES).describe('The proofs that the URL requires'),
    pairs: z.array(pair).min(1).describe('The live pairs; several pairs of one project are a rotation'),
    headers: z
      .array(z.tuple([z.string(), z.base64()]))
      .describe(
        'Pairs of a name and a value in base64, in order of arrival; names may repeat, and values have no surrounding white space',
      ),
    bodyBase64,
    expected: z.discriminatedUnion('verdict', [accepted, refused]),
  })
  .meta({ id: 'proof' })

const signatureVector = z
  .strictObject({
    name,
    decidedBy,
    signingSecret: z.string().min(1).describe('The key of the HMAC, in UTF-8'),
    t: unixSeconds.describe('The `t` of the header'),
    bodyBase64,
    v1: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe('HMAC-SHA256 over `t` in decimal digits, a period and the body'),
  })
  .meta({ id: 'signature' })

const failure = z.strictObject({
  kind: z.enum(['transient', 'permanent', 'unreachable']).describe('The kind of failure'),
  resend: z.boolean().describe('Whether the service recommends sending again'),
  cause: z.enum(FAILURE_CAUSES).describe('The service’s word for the failure'),
  reason: z.string().optional().describe('The reason in the carrier’s or provider’s words'),
  code: z.string().optional().describe('Carrier B’s `status_code`'),
})

const normalisationVector = z
  .strictObject({
    name,
    decidedBy,
    clock,
    kind,
    networks: z.record(z.string(), z.enum(CARRIERS)).describe('The carrier of each network, by its name in callbacks'),
    signedAt,
    bodyBase64,
    expected: z.strictObject({
      type: z.enum(EVENT_TYPES).describe('The event type'),
      problem: z.enum(keysOf(PROBLEMS)).optional().describe('The problem of an `unrecognized` event'),
      shape: z.enum(['sms', 'chat-app']).optional().describe('The shape of the delivery callback'),
      messageId: z.string().optional().describe('The message id as text, even if it was sent as a number'),
      channel: z.string().optional().describe('The channel as sent'),
      network: z.string().optional().describe('The network as sent'),
      carrier: z.enum(CARRIERS).optional().describe('The carrier, if the network or the word determines it'),
      recipient: z.string().optional().describe('The recipient as sent'),
      status: z.string().optional().describe('The status word as sent'),
      statusCode: z.int().optional().describe('The code in the service’s table, sent as a code or as its word'),
      scheduled: z.boolean().optional().describe('For `message.queued`: whether it is scheduled'),
      failure: failure.optional().describe('For `message.failed`'),
      word: z.string().optional().describe('For `subscription.other`: the word as sent'),
      anomalies: z.array(z.enum(ANOMALIES)).optional().describe('The anomalies, sorted'),
      timestamp: unixSeconds.nullable().describe('The time of the event; null if unknown'),
      timestampSource: z.enum(['payload', 'signature', 'arrival']).describe('The source of the timestamp'),
    }),
  })
  .meta({ id: 'normalisation' })

const identityVector = z
  .strictObject({
    name,
    decidedBy,
    clock,
    groups: z
      .array(z.array(z.strictObject({ kind, signedAt, at: arrivedAt, bodyBase64 })).min(1))
      .min(1)
      .describe(
        'Callbacks of one group are the same event, in order of arrival; those of different groups are different events',
      ),
  })
  .meta({ id: 'identity' })

const dispatched = z.strictObject({
  arrival,
  at: clock.describe('The time of dispatch, in Unix seconds; up to 0.1 s later is accepted'),
  late: z.boolean().describe('Whether a later report was dispatched first'),
})

const state = z.strictObject({
  messageId: z.string().describe('The message'),
  newest: z.array(arrival).min(1).describe('The newest report; if there are several, any of them'),
  finals: z.array(arrival).describe('All final reports, in order; in any order if `newest` has several'),
})

const sequencesVector = z
  .strictObject({
    name,
    decidedBy,
    gapSeconds: z.number().min(0).describe('The reorder wait of a chat-app report, in seconds'),
    arrivals: z
      .array(z.strictObject({ at: clock.describe('The time of arrival, in Unix seconds'), signedAt, bodyBase64 }))
      .min(1)
      .describe('Delivery reports in order of arrival; handlers succeed immediately'),
    expected: z.strictObject({
      dispatched: z.array(dispatched).describe('What handlers receive, in order, without duplicates'),
      states: z.array(state).min(1).describe('The final state of each message'),
      anyOrder: z.boolean().describe('Whether the states are the same for every order of the callbacks'),
    }),
  })
  .meta({ id: 'sequences' })

/** The vectors of each family. */
export const families = {
  proof: z.array(proofVector).min(1),
  signature: z.array(signatureVector).min(1),
  normalisation: z.array(normalisationVector).min(1),
  identity: z.array(identityVector).min(1),
  sequences: z.array(sequencesVector).min(1),
}

/** A file of one family. */
export function fileOf<F extends keyof typeof families>(family: F) {
  return z.strictObject({
    version: z.literal(VECTORS_VERSION),
    family: z.literal(family),
    vectors: families[family],
  })
}
