/** Signs a callback like the service. Shares no code with the verifier, so that a test can detect a difference. */
import { createHmac } from 'node:crypto'
import { types } from 'node:util'
import { z } from 'zod'
import { checkOptions, describe, numberFrom } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'

const optionsSchema = z.strictObject({ timestamp: numberFrom(-Infinity, Infinity, 'Unix seconds').optional() })

/**
 * The value of the `X-Service-Signature` header for exactly this body: `t=<unix seconds>,v1=<hex digest>`. `timestamp` is in
 * Unix seconds; default: now. Throws an `OptionsError` for an invalid body or secret. Contract,
 * service.md#callback-authenticity.
 */
export function signCallback(
  body: string | Uint8Array,
  signingSecret: string,
  options: { readonly timestamp?: number | undefined } = {},
): string {
  const { timestamp = Math.floor(Date.now() / 1_000) } = checkOptions(optionsSchema, options, 'signCallback')
  if (typeof signingSecret !== 'string')
    throw new OptionsError(`signCallback: the secret is ${describe(signingSecret)}; expected a string.`)
  const bytes = bytesOf(body)
  const message = Buffer.concat([Buffer.from(`${timestamp}.`, 'ascii'), bytes])
  return `t=${timestamp},v1=${createHmac('sha256', signingSecret).update(message).digest('hex')}`
}

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return Buffer.from(body, 'utf8')
  if (types.isUint8Array(body)) return body
  throw new OptionsError(
    `signCallback: the body is ${describe(body)}; expected the exact string or bytes that are sent, such as JSON.stringify(body).`,
  )
}
