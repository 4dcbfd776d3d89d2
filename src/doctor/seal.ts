/**
 * The answer to a probe, encrypted: callbacks may come over plain HTTP, and a receiver's limits, clock and store are nobody's
 * business but those of whoever holds the pair. Always of one length, so that the length says nothing either.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes, type KeyObject } from 'node:crypto'
import { readReport, type Report } from './facts.ts'

/** Carries the answer. */
export const ANSWER_HEADER = 'x-messaging-webhooks-doctor'

/** Some 2 KiB as text: proxies have room for twice as much in the headers of an answer. */
const PLAIN_BYTES = 1_536
const IV_BYTES = 12
const TAG_BYTES = 16

/** For the sender of this probe alone. What came to the receiver may be much: networks are left out until the rest fits. */
export function seal(report: Report, key: KeyObject, messageId: string): string {
  let plain = Buffer.from(JSON.stringify(report))
  const networks = 'app' in report ? report.app.networks : []
  for (let left = networks.length - 1; plain.length > PLAIN_BYTES && left >= 0; left -= 1) {
    const app = 'app' in report && { ...report.app, networks: networks.slice(0, left) }
    plain = Buffer.from(JSON.stringify({ ...report, app }))
  }
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', answerKey(key, messageId), iv)
  // JSON bears blanks at its end.
  const padded = Buffer.concat([plain, Buffer.alloc(Math.max(0, PLAIN_BYTES - plain.length), ' ')])
  const sealed = [iv, cipher.update(padded), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(sealed).toString('base64url')
}

/** Undefined if no receiver with this key has answered this probe. */
export function unseal(text: string, key: KeyObject, messageId: string): Report | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', answerKey(key, messageId), bytes.subarray(0, IV_BYTES))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
    return readReport(JSON.parse(plain.toString()))
  } catch {
    return undefined
  }
}

function answerKey(key: KeyObject, messageId: string): Buffer {
  return createHmac('sha256', key).update(`messaging-webhooks doctor, answer\n${messageId}`).digest()
}
