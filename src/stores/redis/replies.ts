/**
 * What a server says, unknown until it was looked at; and what a client threw, without what it must not tell: clients put the
 * command's arguments, and with them bodies, on errors.
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

/** Of what is not there, or is no text, nothing. */
export function bytesOrNone(reply: Reply | undefined): Buffer | undefined {
  return Buffer.isBuffer(reply) ? reply : undefined
}

export function text(reply: Reply | undefined): string {
  return typeof reply === 'string' ? reply : bytes(reply).toString('utf8')
}

/** A number, or the text of one. */
export function integer(reply: Reply | undefined): number {
  const number = typeof reply === 'number' ? reply : Number(text(reply))
  if (!Number.isFinite(number)) throw new TypeError('Redis answered with something that is no number.')
  return number
}

/** A member of a sorted set. */
export interface Scored {
  readonly member: string
  readonly score: number
}

/** Members with their scores: a list in one version of the protocol, and a list of pairs in another. */
export function scored(reply: Reply): readonly Scored[] {
  const flat = list(reply).flatMap((one) => (isList(one) ? one : [one]))
  return Array.from({ length: flat.length / 2 }, (_, at) => {
    const [member, score] = [flat[2 * at], flat[2 * at + 1]]
    // Somebody else may have written `inf`.
    const number = typeof score === 'number' ? score : Number(text(score).replace(/inf$/, 'Infinity'))
    return { member: text(member), score: number }
  })
}

/** Replies that say something of the server, and nothing of the event that met them. */
const SERVER_IS_AWAY =
  /^(OOM|LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MISCONF|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|BUSY|UNBLOCKED)\b/

/** A server's own words; everything else that a client throws is of the connection. */
const REPLY_WORD = /^(ERR|WRONGTYPE|NOSCRIPT|CROSSSLOT|EXECABORT|MOVED|ASK)\b/

const MOST_CHARACTERS = 300

/**
 * An outage as `store_failed`; a refusal of this very command as a plain error, so that its neighbours are tried alone.
 * Neither has the client's own error as its cause.
 */
export function cleanError(error: unknown): Error {
  if (error instanceof MessagingWebhooksError) return error
  const cause = new RedisError(error)
  if (error instanceof TypeError || REPLY_WORD.test(cause.message)) return cause
  const detail = cause.message.startsWith('OOM') ? OUT_OF_MEMORY : undefined
  return new MessagingWebhooksError('store_failed', detail, { cause })
}

const OUT_OF_MEMORY = 'Redis is full; what it holds is still handed over. Raise `maxmemory`, or mend the handlers.'

/** What the server or the client said, cut where it repeats what was sent. */
export class RedisError extends Error {
  override readonly name = 'RedisError'

  constructor(error: unknown) {
    super(safeText(error))
  }
}

/** Whether the same command may succeed in a moment: a connection that broke, a server that starts or changes its part. */
export function isPassing(error: unknown): boolean {
  if (error instanceof TypeError) return false
  const text = safeText(error)
  return PASSING_WORD.test(text) || !(REPLY_WORD.test(text) || SERVER_IS_AWAY.test(text))
}

const PASSING_WORD = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/

function safeText(error: unknown): string {
  const message = isError(error) ? error.message || error.name : String(error)
  // An AggregateError, as of a host with two addresses, has no message of its own.
  const code = isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const text = message.includes(code) ? message : `${code} ${message}`
  return text
    .replace(/,? with args beginning with.*/s, '')
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1***@')
    .replace(/\s+/g, ' ')
    .slice(0, MOST_CHARACTERS)
}
