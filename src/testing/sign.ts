/** Signs a callback as the service does. Shares no code with the verifier, so that the two can disagree. */
import { createHmac } from 'node:crypto'

/**
 * The value of the `X-Service-Signature` header for exactly this body: `t=<unix seconds>,v1=<hex digest>`.
 * `timestamp` is in Unix seconds; default: now. Contract, "Callback authenticity".
 */
export function signCallback(
  body: string | Uint8Array,
  signingSecret: string,
  { timestamp = Math.floor(Date.now() / 1_000) }: { readonly timestamp?: number } = {},
): string {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
  const message = Buffer.concat([Buffer.from(`${timestamp}.`, 'ascii'), bytes])
  return `t=${timestamp},v1=${createHmac('sha256', signingSecret).update(message).digest('hex')}`
}
