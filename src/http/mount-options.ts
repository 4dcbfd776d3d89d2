/** Checks the options of a mounted URL: a misspelt `proof` must not weaken verification silently. */
import { z } from 'zod'
import { PROOF_POLICIES, type ProofPolicy } from '../public/callback.ts'
import { checkOptions, unknownName } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { CALLBACK_KINDS } from '../public/events.ts'

/** Options of a mounted URL, beside its kind. */
export interface MountOptions {
  /** The required proofs for this URL. Default: the receiver's option `proof`. */
  readonly proof?: ProofPolicy | undefined
}

const mountOptions = z.strictObject({ proof: z.enum(PROOF_POLICIES).optional() })

/** Throws an `OptionsError` that starts with `where`, the name of the called function. Undefined accepts any kind. */
export function checkKind(where: string, kind: unknown): void {
  if (kind === undefined || CALLBACK_KINDS.some((known) => known === kind)) return
  throw new OptionsError(`${where}: unknown kind of callback. ${unknownName(kind, CALLBACK_KINDS)}`)
}

/** Checks the kind and the options of a mounted URL. */
export function checkMount(where: string, kind: unknown, options: unknown): void {
  checkKind(where, kind)
  checkOptions(mountOptions, options, where)
}
