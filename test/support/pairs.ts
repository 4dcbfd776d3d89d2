/** Two pairs of credentials, and callbacks that prove themselves with one half of a pair. */
import { callback, signCallback } from 'messaging-webhooks/testing'

export const A = { authKey: 'auth-key-of-a', signingSecret: 'signing-secret-of-a' }
export const B = { authKey: 'auth-key-of-b', signingSecret: 'signing-secret-of-b' }

/** Sends a callback with the given proofs; returns the status. */
export async function send(
  url: string,
  proof: { readonly signingSecret?: string; readonly authKey?: string },
  fields: object = {},
  timestamp?: number,
): Promise<number> {
  const { signingSecret, authKey } = proof
  const body = JSON.stringify({ ...callback.smsDelivery(), ...fields, ...(authKey === undefined ? {} : { authKey }) })
  const options = timestamp === undefined ? {} : { timestamp }
  const headers: Record<string, string> =
    signingSecret === undefined ? {} : { 'x-service-signature': signCallback(body, signingSecret, options) }
  return (await fetch(url, { method: 'POST', body, headers })).status
}
