/** Checks what is said of a URL as it is mounted: a misspelt `proof` would weaken it in silence. */
import { z } from 'zod'
import { PROOF_POLICIES, type ProofPolicy } from '../public/callback.ts'
import { checkOptions, unknownName } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { CALLBACK_KINDS } from '../public/events.ts'

/** What may be said of a URL beside the kind of its callbacks. */
export interface MountOptions {
  /** Which proofs this URL needs; the receiver's option `proof` by default. */
  readonly proof?: ProofPolicy | undefined
}

const mountOptions = z.strictObject({ proof: z.enum(PROOF_POLICIES).optional() })

/** Throws an `OptionsError` that begins with `where`, the name of the function that is told the kind; none is any. */
export function checkKind(where: string, kind: unknown): void {
  if (kind === undefined || CALLBACK_KINDS.some((known) => known === kind)) return
  throw new OptionsError(`${where}: there is no such kind of callback. ${unknownName(kind, CALLBACK_KINDS)}`)
}

/** The same for all that is said of a URL as it is mounted. */
export function checkMount(where: string, kind: unknown, options: unknown): void {
  checkKind(where, kind)
  checkOptions(mountOptions, options, where)
}
