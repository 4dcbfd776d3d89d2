/** Reads replies: what a server says is unknown until it was looked at. */
import type { Reply } from './clients/connection.ts'
import { cleanError } from './server-error.ts'

export function list(reply: Reply | undefined): readonly Reply[] {
  if (!isList(reply)) throw new TypeError(`Redis answered with ${typeof reply}; expected a list.`)
  return reply
}

function isList(reply: Reply | undefined): reply is readonly Reply[] {
  return Array.isArray(reply)
}

export function bytes(reply: Reply | undefined): Buffer {
  if (Buffer.isBuffer(reply)) return reply
  if (typeof reply === 'string') return Buffer.from(reply)
  throw new TypeError(`Redis answered with ${typeof reply}; expected bytes.`)
}

export function text(reply: Reply | undefined): string {
  return typeof reply === 'string' ? reply : bytes(reply).toString('utf8')
}

/** Of a script that answers for each of many, and with a text where something is wrong with the keys of one. */
export function orThrow(reply: Reply | undefined): number {
  if (typeof reply === 'number') return reply
  throw cleanError(new Error(text(reply)))
}

/** A number, or the text of one. */
export function integer(reply: Reply | undefined): number {
  const number = typeof reply === 'number' ? reply : Number(text(reply))
  if (!Number.isFinite(number)) throw new TypeError('Redis answered with something that is no number.')
  return number
}

export function isSet(reply: Reply): boolean {
  return reply === 1
}
