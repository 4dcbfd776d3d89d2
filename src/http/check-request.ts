/** Checks what an app mounts and passes to the receiver: a misspelt `proof` must not weaken verification silently. */
import { z } from 'zod'
import { PROOF_POLICIES, type ProofPolicy } from '../public/callback.ts'
import { OptionsError } from '../public/errors.ts'
import { CALLBACK_KINDS } from '../public/events.ts'
import { checkName, checkOptions, describe } from '../runtime/check-options.ts'
import { isRecord } from '../runtime/values.ts'
import type { CallbackRequest } from './request.ts'

/** Options of a mounted URL, beside its kind. */
export interface MountOptions {
  /** The required proofs for this URL. Default: the receiver's option `proof`. */
  readonly proof?: ProofPolicy | undefined
}

const mountOptions = z.strictObject({ proof: z.enum(PROOF_POLICIES).optional() })

/** Checks the kind and the options of a mounted URL. */
export function checkMount(where: string, kind: unknown, options: unknown): void {
  if (kind !== undefined) checkName(where, 'kind of callback', kind, CALLBACK_KINDS)
  checkOptions(mountOptions, options, where)
}

/** Detects that `receiver.middleware` was mounted in place of its result: it then receives a request. */
export function checkNoRequest(kind: unknown): void {
  if (isRecord(kind) && 'method' in kind && 'headers' in kind)
    throw new OptionsError(
      "receiver.middleware itself was mounted. Mount its result: app.use(path, receiver.middleware('status')).",
    )
}

const REQUEST_KEYS = ['kind', 'proof', 'method', 'headers', 'body', 'waitUntil']

/** Written by hand, because it runs for every request. */
export function checkRequest(request: unknown): asserts request is CallbackRequest {
  if (!isRecord(request)) throw new OptionsError(`receive: the request is ${describe(request)}; ${EXPECTED_REQUEST}`)
  for (const key of Object.keys(request)) checkName('receive', 'part of a request', key, REQUEST_KEYS)
  const { kind, proof, method, headers, body, waitUntil } = request
  if (kind !== undefined) checkName('receive', 'kind of callback', kind, CALLBACK_KINDS)
  if (proof !== undefined) checkName('receive', 'proof policy', proof, PROOF_POLICIES)
  if (typeof method !== 'string')
    throw new OptionsError(
      `receive: method is ${describe(method)}; expected the method of the request, such as 'POST'.`,
    )
  if (typeof headers !== 'object' || headers === null)
    throw new OptionsError(`receive: headers is ${describe(headers)}; expected an object, or pairs such as Headers.`)
  if (waitUntil !== undefined && typeof waitUntil !== 'function')
    throw new OptionsError(`receive: waitUntil is ${describe(waitUntil)}; expected a function that takes a promise.`)
  if (!isBody(body)) throw new OptionsError(`receive: body is ${describe(body)}; ${EXPECTED_BODY}`)
}

const EXPECTED_REQUEST = 'expected an object such as { kind, method, headers, body }.'
/** A parsed string or object does not contain the signed bytes. */
const EXPECTED_BODY = 'expected its bytes (a Uint8Array or a stream of them), or { parsed } if a parser left no bytes.'

function isBody(body: unknown): boolean {
  if (body === undefined || body === null || body instanceof Uint8Array) return true
  return isRecord(body) && (Symbol.asyncIterator in body || 'parsed' in body)
}
