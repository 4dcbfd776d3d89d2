/**
 * The public surface of `messaging-webhooks/vectors`: known answers for testing any receiver, worked out by hand from the
 * service's rules. Also published as plain JSON for other languages: `messaging-webhooks/vectors/index.json`, and one file per
 * family.
 */
import type { z } from 'zod'
import { everyFamily } from './format.ts'
import identity from './identity.json' with { type: 'json' }
import normalisation from './normalisation.json' with { type: 'json' }
import proof from './proof.json' with { type: 'json' }
import sequences from './sequences.json' with { type: 'json' }
import signature from './signature.json' with { type: 'json' }

/** All vectors by family, with the version of their format. */
export type Vectors = z.infer<typeof everyFamily>
/** Whether a callback is accepted, and by which proof. */
export type ProofVector = Vectors['proof'][number]
/** The digest of given bytes. */
export type SignatureVector = Vectors['signature'][number]
/** The meaning of an authentic callback. */
export type NormalisationVector = Vectors['normalisation'][number]
/** Which callbacks are the same event. */
export type IdentityVector = Vectors['identity'][number]
/** What is dispatched and when, and the final state of a message. */
export type SequencesVector = Vectors['sequences'][number]

/** The vectors of this package. Parsed on import, so that their types are correct. */
export const vectors: Vectors = everyFamily.parse({
  $schema: './schema.json',
  version: proof.version,
  proof: proof.vectors,
  signature: signature.vectors,
  normalisation: normalisation.vectors,
  identity: identity.vectors,
  sequences: sequences.vectors,
})
