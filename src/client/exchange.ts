/** One request and its answer, with a timeout, on any runtime that has `fetch`. */
import type { Clock } from '../runtime/clock.ts'
import { readFailure } from './unreached.ts'

/** The part of `fetch` that the client uses. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>

interface ExchangeOptions {
  readonly fetch: FetchFunction
  readonly clock: Pick<Clock, 'setTimer'>
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export type Exchanged =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  /** The answer exceeds `MOST_ANSWER_BYTES`. */
  | { readonly kind: 'too long'; readonly status: number }
  /** No byte was sent. */
  | { readonly kind: 'unreached'; readonly reason: string | undefined }
  /** Aborted, timed out or broken off. The request may have arrived. */
  | {
      readonly kind: 'unknown' | 'aborted'
      readonly reason: string | undefined
      readonly status: number | undefined
    }

/** An entry takes about 200 bytes. A request may have a thousand recipients, each with several parts. */
const MOST_ANSWER_BYTES = 16_777_216

/** Never rejects. The timeout covers the whole answer. */
export async function exchange(url: string, init: RequestInit, options: ExchangeOptions): Promise<Exchanged> {
  const { fetch, clock, timeoutMs, signal } = options
  const stopping = new AbortController()
  let status: number | undefined
  let why: 'timeout' | 'aborted' | undefined
  let cancel = (): void => {}
  const stopped = new Promise<'stopped'>((resolve) => {
    function stop(reason: 'timeout' | 'aborted'): void {
      why ??= reason
      stopping.abort()
      resolve('stopped')
    }
    // Keeps the process alive, so that the caller learns the result of its send.
    const cancelTimer = clock.setTimer(() => stop('timeout'), timeoutMs, true)
    const abort = (): void => stop('aborted')
    signal?.addEventListener('abort', abort, { once: true })
    cancel = () => {
      cancelTimer()
      signal?.removeEventListener('abort', abort)
    }
  })

  async function work(): Promise<Exchanged> {
    const response = await fetch(url, { ...init, signal: stopping.signal })
    status = response.status
    const text = await textOf(response)
    return text === undefined ? { kind: 'too long', status } : { kind: 'answered', status, text }
  }

  function failed(error: unknown): Exchanged {
    const { isUnreached, reason } = readFailure(error)
    if (isUnreached && status === undefined) return { kind: 'unreached', reason }
    if (why === 'aborted') return { kind: 'aborted', reason: undefined, status }
    return { kind: 'unknown', reason: why ?? reason, status }
  }

  try {
    // A custom `fetch` may ignore the signal.
    const ended = await Promise.race([work().catch(failed), stopped])
    if (ended !== 'stopped') return ended
    return why === 'aborted'
      ? { kind: 'aborted', reason: undefined, status }
      : { kind: 'unknown', reason: 'timeout', status }
  } finally {
    cancel()
  }
}

/** Undefined if the answer is too long. */
async function textOf(response: Response): Promise<string | undefined> {
  if (response.body === null) return ''
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > MOST_ANSWER_BYTES) {
      // Does not wait for the connection to close.
      reader.cancel().catch(() => {})
      return undefined
    }
    text += decoder.decode(value, { stream: true })
  }
}
