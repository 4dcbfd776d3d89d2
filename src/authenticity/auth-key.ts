/** The `authKey` field of every callback's body. Contract, "Webhook security pair" and "Callback authenticity". */
import { createHash, timingSafeEqual } from 'node:crypto'

/** What is kept of a key to compare with: equal lengths whatever the key's, so that length leaks nothing. */
export function digestAuthKey(authKey: string): Buffer {
  return createHash('sha256').update(authKey, 'utf8').digest()
}

/** Whether `candidate`, as parsed from the body, is the key. Only a non-empty string can be: nothing is coerced. */
export function authKeyHolds(candidate: unknown, expectedDigest: Buffer): boolean {
  if (typeof candidate !== 'string' || candidate === '') return false
  return timingSafeEqual(digestAuthKey(candidate), expectedDigest)
}
