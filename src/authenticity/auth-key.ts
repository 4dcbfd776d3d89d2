/** The `authKey` field of every callback's body. Contract, "Webhook security pair" and "Callback authenticity". */
import { hash, timingSafeEqual } from 'node:crypto'

/** What is kept of a key to compare with: equal lengths whatever the key's, so that length leaks nothing. */
export function digestAuthKey(authKey: string): Buffer {
  // As text first: Node gives a digest in a buffer memory of its own, which costs more than the digest.
  return Buffer.from(hash('sha256', authKey, 'hex'), 'hex')
}

/** The digest of what the body has for a key. Only a non-empty string can be one: nothing is coerced. */
export function digestCandidate(candidate: unknown): Buffer | undefined {
  return typeof candidate === 'string' && candidate !== '' ? digestAuthKey(candidate) : undefined
}

/** Whether that is the key; in constant time. */
export function authKeyHolds(candidate: Buffer | undefined, expected: Buffer): boolean {
  return candidate !== undefined && timingSafeEqual(candidate, expected)
}
