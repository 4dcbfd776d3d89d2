/**
 * The public surface of `messaging-webhooks/vectors`: known answers, worked out by hand from the service's rules, to which any
 * receiver can be held. The same is published as plain JSON, for other languages: `messaging-webhooks/vectors/index.json`, and
 * a file for each family.
 */
import type { z } from 'zod'
import {
  everyFamily,
  type identityVector,
  type normalisationVector,
  type proofVector,
  type sequencesVector,
  type signatureVector,
} from './format.ts'
import identity from './identity.json' with { type: 'json' }
import normalisation from './normalisation.json' with { type: 'json' }
import proof from './proof.json' with { type: 'json' }
import sequences from './sequences.json' with { type: 'json' }
import signature from './signature.json' with { type: 'json' }

/** All vectors, by family, with the version of their format. */
export type Vectors = z.infer<typeof everyFamily>
/** Is this callback taken, and by what? */
export type ProofVector = z.infer<typeof proofVector>
/** The digest over these bytes. */
export type SignatureVector = z.infer<typeof signatureVector>
/** What an authentic callback means. */
export type NormalisationVector = z.infer<typeof normalisationVector>
/** Which callbacks are the same event. */
export type IdentityVector = z.infer<typeof identityVector>
/** What is handed over when, and what is known of a message in the end. */
export type SequencesVector = z.infer<typeof sequencesVector>

/** Checked as it is read, so that the types are true. */
export const vectors: Vectors = everyFamily.parse({
  $schema: './schema.json',
  version: proof.version,
  proof: proof.vectors,
  signature: signature.vectors,
  normalisation: normalisation.vectors,
  identity: identity.vectors,
  sequences: sequences.vectors,
})
