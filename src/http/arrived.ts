/** One POST, as the middleware hands it to the stages. */
import type { ProofPolicy } from '../authenticity/proof-table.ts'
import type { CallbackKind } from '../events.ts'
import type { Captured } from './capture.ts'

export interface ArrivedCallback {
  readonly kind: CallbackKind | undefined
  readonly policy: ProofPolicy
  /** The values of the signature header: more than one where it was sent twice. */
  readonly signatures: readonly string[]
  readonly contentEncoding: string | undefined
  readonly captured: Captured
  readonly arrivedAtMs: number
  /** Who is at the other end of the connection, perhaps a proxy; undefined where nobody can say. */
  readonly remoteAddress: string | undefined
}
