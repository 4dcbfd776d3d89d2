/** What makes two callbacks the same event. Contract, service.md#delivery-rules: callbacks come twice; a `messageId` is no event. */
import { hash } from 'node:crypto'
import type { CallbackKind } from '../events.ts'

/** 128 bits, in hexadecimal: far beyond chance for any number of events that one receiver sees. */
const DIGEST_DIGITS = 32

/** The identity of a report: two of one message with equal word, code and payload time are the same event. */
export function reportIdentity(report: {
  readonly project: string | undefined
  readonly messageId: string
  readonly status: string
  readonly statusCode: number | undefined
  /** The payload's own timestamp, where it has one. */
  readonly timestamp: number | undefined
  /** The body's digest, where a field is not exactly representable: a false duplicate would be a loss. */
  readonly bodyDigest: Buffer | undefined
}): string {
  const { project, messageId, status, statusCode, timestamp, bodyDigest } = report
  const code = statusCode?.toString()
  return digest(['report', project, messageId, status, code, timestamp?.toString(), bodyDigest?.toString('hex')])
}

/** The identity of any other callback: the same bytes without the authKey, under the same project and kind. */
export function bodyIdentity(project: string | undefined, kind: CallbackKind | undefined, bodyDigest: Buffer): string {
  return digest(['body', project, kind, bodyDigest.toString('hex')])
}

/** The identity that the user's `dedupeKey` chose. It never joins reports of two messages, whose states are kept apart. */
export function chosenIdentity(callback: {
  readonly project: string | undefined
  readonly kind: CallbackKind | undefined
  readonly messageId: string | undefined
  readonly chosen: string
}): string {
  const { project, kind, messageId, chosen } = callback
  return digest(['chosen', project, kind, messageId, chosen])
}

/** What the events of one message share. The proved project is part of it, so that tenants cannot meet. */
export function messageKey(project: string | undefined, messageId: string): string {
  return digest(['message', project, messageId])
}

/** The identity of the event that says of a message that it is overdue: a message has one. */
export function overdueIdentity(key: string): string {
  return digest(['overdue', key])
}

/** What a send that was begun stands under: no message can have it, whatever its id. */
export function sendKey(project: string | undefined, reference: string): string {
  return digest(['send', project, reference])
}

/** The identity of the event that says of a send that nothing is known of its answer. A reference may be used again. */
export function unknownSendIdentity(key: string, begunAtMs: number): string {
  return digest(['unknown send', key, String(begunAtMs)])
}

/** Length-prefixed, so that no two lists of fields are joined to the same text; digested, so that no id is too long. */
function digest(fields: readonly (string | undefined)[]): string {
  let joined = ''
  for (const field of fields) joined += field === undefined ? '-' : `${field.length}:${field}`
  // UTF-8 makes all lone surrogates equal, so a text that has any is digested as UTF-16.
  const hex = hash('sha256', joined.isWellFormed() ? joined : Buffer.from(joined, 'utf16le'), 'hex')
  // A copy: a slice would keep the whole text for as long as a store keeps the identity.
  digits.write(hex, 'latin1')
  return digits.toString('latin1')
}

const digits = Buffer.alloc(DIGEST_DIGITS)
