/** Builds a send: a POST with JSON and the live key in a header. Contract, service.md#send-a-message, #authentication. */
import { OptionsError } from '../public/errors.ts'
import { defined } from '../runtime/defined.ts'
import { isPromiseLike, letReject } from '../runtime/values.ts'
import type { Outgoing } from './message.ts'
import type { Clock } from '../runtime/clock.ts'
import { stopAfter } from './exchange.ts'
import type { ApiKey } from './options.ts'
import { SendError, type SendFailure } from './send-error.ts'

interface RequestParts {
  readonly project: string
  readonly apiKey: string
  readonly schedule: (at: Date) => Readonly<Record<string, unknown>>
}

/** Characters allowed in a header. */
const HEADER_TEXT = /^[\x21-\x7e]+$/

/** Throws an `OptionsError` for a key that no header can carry, or a value that cannot be written as JSON. */
export function buildRequest(outgoing: Outgoing, { project, apiKey, schedule }: RequestParts): RequestInit {
  if (!HEADER_TEXT.test(apiKey))
    throw new OptionsError(
      'apiKey contains white space or a character that a header cannot carry. Remove it: it may be the line end of a file.',
    )
  const { to, message, from, channel, type, campaign, scheduledFor, extra } = outgoing
  const body = jsonOf({
    project,
    ...defined({ from }),
    // Contract, service.md#send-request-fields: a single number is a string.
    to: typeof to === 'string' || to.length > 1 ? to : to[0],
    ...defined({ message, channel, type, campaign }),
    ...(scheduledFor !== undefined && scheduleOf(scheduledFor, schedule)),
    ...extra,
  })
  const authorization = `Bearer ${apiKey}`
  const headers = { accept: 'application/json', 'content-type': 'application/json', authorization }
  // A redirect would pass the key and the message on, and may turn a POST into a GET.
  // Deno repeats a request with a string body after a reset connection (measured with 2.9), but not one with a Blob.
  return { method: 'POST', headers, redirect: 'manual', body: new Blob([body]) }
}

/** Without these fields the message would be sent at once, so anything but an object with fields is an error. */
function scheduleOf(at: Date, schedule: RequestParts['schedule']): object {
  let fields: unknown
  try {
    fields = schedule(at)
    letReject(fields)
  } catch {
    // The error may quote a field.
  }
  if (typeof fields === 'object' && fields !== null && !isPromiseLike(fields)) return fields
  throw new OptionsError('schedule threw, or returned no object with fields. Return the fields for the time.')
}

function jsonOf(fields: object): string {
  try {
    return JSON.stringify(fields)
  } catch {
    // The error may quote a field.
    throw new OptionsError('extra contains a value that cannot be written as JSON.')
  }
}

interface LiveKeyOptions {
  readonly clock: Pick<Clock, 'setTimer'>
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  /** Number of the attempt, from 1. */
  readonly attempts: number
  readonly recipients: number
}

/**
 * The current API key. Contract, service.md#authentication: a regenerated key is valid at once, and the old one is not. Rejects
 * with `not_sent` if the function returns no key in time, and with `aborted` if the signal fires first.
 */
export async function liveKey(
  apiKey: ApiKey,
  { clock, timeoutMs, signal, attempts, recipients }: LiveKeyOptions,
): Promise<string> {
  if (typeof apiKey === 'string') return apiKey
  const failure: SendFailure = { mayBeSent: false, attempts: attempts - 1, recipients }
  const { stopped, cancel } = stopAfter(clock, timeoutMs, signal)
  try {
    // The function may also throw synchronously.
    const asked = Promise.resolve().then(apiKey)
    const given: unknown = await Promise.race([asked.then((key) => ({ key })), stopped])
    // The signal may fire in the same turn.
    if (given === 'aborted' || signal?.aborted === true) throw new SendError('aborted', failure)
    if (given === 'timeout') throw new SendError('not_sent', { ...failure, reason: 'timeout', detail: SLOW })
    const key = typeof given === 'object' && given !== null && 'key' in given ? given.key : undefined
    if (typeof key === 'string' && key !== '') return key
    throw new SendError('not_sent', { ...failure, detail: EMPTY })
  } catch (error) {
    if (error instanceof SendError) throw error
    throw new SendError('not_sent', { ...failure, detail: THREW, cause: error })
  } finally {
    cancel()
  }
}

const SLOW = 'apiKey() took longer than timeoutMs.'
const EMPTY = 'apiKey() returned an empty string, or no string.'
const THREW = 'apiKey() threw the error in `cause`.'
