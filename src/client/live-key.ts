/**
 * Reads the current API key. Contract, service.md#authentication: a regenerated key is valid at once, and the old one is not.
 */
import type { Clock } from '../runtime/clock.ts'
import { stopAfter } from './exchange.ts'
import type { ApiKey } from './options.ts'
import { SendError, type SendFailure } from './send-error.ts'

interface LiveKeyOptions {
  readonly clock: Pick<Clock, 'setTimer'>
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  /** Number of the attempt, from 1. */
  readonly attempts: number
  readonly recipients: number
}

/** Rejects with `not_sent` if the function returns no key in time, and with `aborted` if the signal fires first. */
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
