/**
 * Reads untyped replies of a server, and removes secrets from errors of clients: clients attach the arguments of a command,
 * including bodies, to errors.
 */
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Reply } from './clients/connection.ts'
import { isError } from '../../runtime/values.ts'

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

/** Undefined if missing or not text. */
export function bytesOrNone(reply: Reply | undefined): Buffer | undefined {
  return Buffer.isBuffer(reply) ? reply : undefined
}

export function text(reply: Reply | undefined): string {
  return typeof reply === 'string' ? reply : bytes(reply).toString('utf8')
}

/** Reads a number, also from text. */
export function integer(reply: Reply | undefined): number {
  const number = typeof reply === 'number' ? reply : Number(text(reply))
  if (!Number.isFinite(number)) throw new TypeError('Redis did not answer with a number.')
  return number
}

/** A member of a sorted set. */
export interface Scored {
  readonly member: string
  readonly score: number
}

/** Reads members with scores: a flat list in one protocol version, a list of pairs in another. */
export function scored(reply: Reply): readonly Scored[] {
  const flat = list(reply).flatMap((one) => (isList(one) ? one : [one]))
  return Array.from({ length: flat.length / 2 }, (_, at) => {
    const [member, score] = [flat[2 * at], flat[2 * at + 1]]
    // Another program may have written `inf`.
    const number = typeof score === 'number' ? score : Number(text(score).replace(/inf$/, 'Infinity'))
    return { member: text(member), score: number }
  })
}

/** Errors that describe the server rather than the event. */
const SERVER_IS_UNAVAILABLE =
  /^(OOM|LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MISCONF|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|BUSY|UNBLOCKED)\b/

/** The first word of an error of the server. Any other error of a client concerns the connection. */
const REPLY_WORD = /^(ERR|WRONGTYPE|NOSCRIPT|CROSSSLOT|EXECABORT|MOVED|ASK)\b/

const MAX_CHARACTERS = 300

/**
 * Converts an outage to `store_failed`, and a refusal of this command to a plain error, so that the inbox tries each event of the
 * batch alone. Neither has the client's error as its cause.
 */
export function cleanError(error: unknown): Error {
  if (error instanceof MessagingWebhooksError) return error
  const cause = new RedisError(error)
  if (error instanceof TypeError || REPLY_WORD.test(cause.message)) return cause
  const detail = cause.message.startsWith('OOM') ? OUT_OF_MEMORY : undefined
  return new MessagingWebhooksError('store_failed', detail, { cause })
}

const OUT_OF_MEMORY = 'Redis is full. Stored events are still dispatched. Raise `maxmemory`, or fix the handlers.'

/** The error of a client, without the arguments of the command. */
export class RedisError extends Error {
  override readonly name = 'RedisError'

  constructor(error: unknown) {
    super(safeText(error))
  }
}

/** Whether the same command may succeed soon: the connection broke, or the server is starting or changing its role. */
export function isPassing(error: unknown): boolean {
  if (error instanceof TypeError) return false
  const text = safeText(error)
  return PASSING_WORD.test(text) || !(REPLY_WORD.test(text) || SERVER_IS_UNAVAILABLE.test(text))
}

const PASSING_WORD = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/

function safeText(error: unknown): string {
  const message = isError(error) ? error.message || error.name : String(error)
  // An AggregateError, for example of a host with two addresses, has no message.
  const code = isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const text = message.includes(code) ? message : `${code} ${message}`
  return text
    .replace(/,? with args beginning with.*/s, '')
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1***@')
    .replace(/\s+/g, ' ')
    .slice(0, MAX_CHARACTERS)
}
