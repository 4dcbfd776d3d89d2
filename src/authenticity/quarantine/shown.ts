/** How a kept request is shown: without what proves it, and with every key masked by its name. */
import type { RefusalCode } from '../../error-table.ts'
import type { CallbackKind } from '../../events.ts'
import { isRecord, maskSecrets, readSentBody, textOf } from '../body.ts'
import type { ProofPolicy } from '../../callback.ts'
import type { KeptRequest, QuarantineClass } from './request.ts'

/** A request without a valid proof, as `quarantine.list()` shows it. */
export interface QuarantinedRequest {
  /** SHA-256 of the body, in hexadecimal digits; the same body is kept once. */
  readonly id: string
  readonly class: QuarantineClass
  readonly arrivedAt: Date
  /** The kind that its middleware was mounted with, and the proofs that it asks for. */
  readonly kind: CallbackKind | undefined
  readonly policy: ProofPolicy
  /** Why it was refused; the README's table of codes explains it. */
  readonly code: RefusalCode
  /**
   * How far its signature's time is behind this clock, in seconds (negative: ahead), where its digest is right. What
   * `reverify({ clockOffsetSeconds })` takes.
   */
  readonly offsetSeconds?: number
  readonly contentEncoding?: string
  /** Length of the body. */
  readonly bytes: number
  /** The parsed body with keys masked by name at every depth; absent where it is no JSON object. */
  readonly payload?: Readonly<Record<string, unknown>>
  /** With `reveal` only: the body as it came, with the keys in it. */
  readonly raw?: Buffer
  /** With `reveal` only: the values of the signature header. */
  readonly signatures?: readonly string[]
}

const MASKED = '***'

/** `secrets` are masked by value too; by name comes first, for the key may be one that nobody here knows yet. */
export function show(
  request: KeptRequest,
  { reveal, secrets }: { readonly reveal: boolean; readonly secrets: readonly string[] },
): QuarantinedRequest {
  const { id, class: name, code, offsetSeconds, callback } = request
  const { kind, policy, contentEncoding, captured, signatures, arrivedAtMs } = callback
  const payload = maskedPayload(request, secrets)
  return {
    id,
    class: name,
    arrivedAt: new Date(arrivedAtMs),
    kind,
    policy,
    code,
    ...(offsetSeconds === undefined ? undefined : { offsetSeconds }),
    ...(contentEncoding === undefined ? undefined : { contentEncoding }),
    bytes: captured.bytes.length,
    ...(payload === undefined ? undefined : { payload }),
    ...(reveal ? { raw: Buffer.from(captured.bytes), signatures: [...signatures] } : undefined),
  }
}

function maskedPayload({ callback }: KeptRequest, secrets: readonly string[]): Record<string, unknown> | undefined {
  const body = readSentBody(callback)
  if (body.fields === undefined) return undefined
  try {
    const payload: unknown = JSON.parse(textOf(maskSecrets(body, secrets).bytes), maskValue)
    return isRecord(payload) ? payload : undefined
  } catch {
    return undefined
  }
}

/** Names that only look like the key's are masked too, and texts that are JSON themselves, for they have names of their own. */
function maskValue(name: string, value: unknown): unknown {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  if (plain.endsWith('key') || plain.includes('secret')) return MASKED
  if (typeof value === 'string' && (/^\s*[[{"]/.test(value) || /auth_?key/i.test(value))) return MASKED
  return value
}
