/**
 * Which of the two proofs a callback carries. Contract, service.md#webhook-security-pair, #callback-authenticity: the authKey is in
 * the body of every callback, and each carries both; "Versioning" says that callbacks may. What lists no `authKey`, such as
 * the fields of the chat-app callback, does not say that there is none, so both is what all have unless somebody knows better.
 */
import { z } from 'zod'
import { checkOptions, unknownName } from '../check-options.ts'
import { OptionsError } from '../errors.ts'
import type { CallbackKind, Proof } from '../events.ts'

const PROOFS = ['both', 'authKey', 'signature'] as const satisfies readonly Proof[]

/** The callbacks that the contract tells apart; the Message Status one is `sms` or `chat-app`, by its fields. */
type ProofSubject = 'sms' | 'chat-app' | Exclude<CallbackKind, 'status'>

/** The same for all callbacks, or for each of those that are named; the others carry both. */
export type CallbackProof = Proof | Readonly<Partial<Record<ProofSubject, Proof | undefined>>>

/** What a callback of this kind, with this payload, carries. */
export type ProofOf = (kind: CallbackKind, payload: Readonly<Record<string, unknown>>) => Proof

const proof = z.enum(PROOFS).optional()
const schema = z.strictObject({
  sms: proof,
  'chat-app': proof,
  received: proof,
  payment: proof,
  subscription: proof,
} satisfies Record<ProofSubject, typeof proof>)

/** Reads the option. Throws an `OptionsError` for a proof, or a callback, that does not exist. */
export function readCallbackProof(given: unknown = 'both'): ProofOf {
  if (typeof given === 'object' && given !== null) {
    const proofs = checkOptions(schema, given, 'proof')
    return (kind, payload) => proofs[subjectOf(kind, payload)] ?? 'both'
  }
  const all = PROOFS.find((one) => one === given)
  if (all === undefined) throw new OptionsError(`proof: there is no such proof. ${unknownName(given, PROOFS)}`)
  return () => all
}

function subjectOf(kind: CallbackKind, { statuses }: Readonly<Record<string, unknown>>): ProofSubject {
  if (kind !== 'status') return kind
  return typeof statuses === 'object' && statuses !== null ? 'chat-app' : 'sms'
}
