/** Which proofs are enough for whom. Contract, "Callback authenticity": either is sufficient, a stale `t` never is. */
import type { ProofPolicy } from '../callback.ts'

/** What the signature header is worth. */
export type SignatureState = 'holds' | 'absent' | 'wrong' | 'stale'

/**
 * The proof table. `wrong` is a wrong digest or a malformed header: turning it away under `either` although the authKey
 * holds would gain nothing, since a forger could leave the header out. A stale `t` is refused whatever else holds, because
 * the contract says so.
 */
export function isAccepted(policy: ProofPolicy, signature: SignatureState, authKey: boolean): boolean {
  if (signature === 'stale') return false
  const signed = signature === 'holds'
  switch (policy) {
    case 'either':
      return signed || authKey
    case 'signature':
      return signed
    case 'authKey':
      return authKey
    case 'both':
      return signed && authKey
  }
}
