/** Distinct, freshly signed callbacks of about 300 bytes, as whole HTTP requests, so that the client does next to nothing. */
import { callback, signCallback } from 'messaging-webhooks/testing'

export const credentials = {
  authKey: 'auth-key-of-the-benchmark-0123456789',
  signingSecret: 'signing-secret-of-the-benchmark-0123456789',
}

export function signedRequests(count: number): readonly Buffer[] {
  return Array.from({ length: count }, () => {
    const report = callback.smsDelivery({ recipient: '254711000000', campaign: 'Spring sale, second reminder' })
    const body = JSON.stringify({ ...report, authKey: credentials.authKey })
    const head = [
      'POST / HTTP/1.1',
      'host: localhost',
      'content-type: application/json',
      'accept: application/json',
      `x-service-signature: ${signCallback(body, credentials.signingSecret)}`,
      `content-length: ${Buffer.byteLength(body)}`,
    ]
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}
