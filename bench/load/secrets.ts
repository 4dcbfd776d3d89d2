/** Secrets that both sides know. */
export const AUTH_KEY = 'auth-key-of-the-benchmark-0123456789'
export const SIGNING_SECRET = 'signing-secret-of-the-benchmark-0123456789'
/** The same secret in the format that svix and Standard Webhooks issue. */
export const BASE64_SECRET = `whsec_${Buffer.from(SIGNING_SECRET).toString('base64')}`
/** The path on which every contender receives callbacks. */
export const PATH = '/webhooks/status'

export function projectName(index: number): string {
  return `Shop ${index}`
}
