/** Makes one request with a timeout, on any runtime that has `fetch`, and tells whether a failed one reached the service. */
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedOptions, SendOptions } from './options.ts'

type ExchangeOptions = Pick<ResolvedOptions, 'fetch' | 'clock' | 'timeoutMs'> & SendOptions

export type Exchanged =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  /** The answer exceeds `MAX_ANSWER_BYTES`. */
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
const MAX_ANSWER_BYTES = 16_777_216

/** Never rejects. The timeout covers the whole answer. */
export async function exchange(url: string, init: RequestInit, options: ExchangeOptions): Promise<Exchanged> {
  const { fetch, clock, timeoutMs, signal } = options
  const stopping = new AbortController()
  const stop = stopAfter(clock, timeoutMs, signal)
  let status: number | undefined
  let why: StopReason | undefined
  const stopped = stop.stopped.then((reason) => {
    why = reason
    stopping.abort()
    return unanswered(undefined)
  })

  async function work(): Promise<Exchanged> {
    const response = await fetch(url, { ...init, signal: stopping.signal })
    status = response.status
    const text = await textOf(response)
    return text === undefined ? { kind: 'too long', status } : { kind: 'answered', status, text }
  }

  function failed(error: unknown): Exchanged {
    const { isUnreached, reason } = readFailure(error)
    return isUnreached && status === undefined ? { kind: 'unreached', reason } : unanswered(reason)
  }

  function unanswered(reason: string | undefined): Exchanged {
    if (why === 'aborted') return { kind: 'aborted', reason: undefined, status }
    return { kind: 'unknown', reason: why ?? reason, status }
  }

  try {
    // A custom `fetch` may ignore the signal.
    return await Promise.race([work().catch(failed), stopped])
  } finally {
    stop.cancel()
  }
}

type StopReason = 'timeout' | 'aborted'

/** Resolves after `timeoutMs`, or when the signal is aborted. Keeps the process alive, so that the caller learns the result. */
export function stopAfter(clock: Pick<Clock, 'setTimer'>, timeoutMs: number, signal: AbortSignal | undefined) {
  let cancel = (): void => {}
  const stopped = new Promise<StopReason>((resolve) => {
    const cancelTimer = clock.setTimer(() => resolve('timeout'), timeoutMs, true)
    const abort = (): void => resolve('aborted')
    signal?.addEventListener('abort', abort, { once: true })
    cancel = () => {
      cancelTimer()
      signal?.removeEventListener('abort', abort)
    }
  })
  return { stopped, cancel }
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
    if (bytes > MAX_ANSWER_BYTES) {
      // Does not wait for the connection to close.
      reader.cancel().catch(() => {})
      return undefined
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** System calls of Node that precede a connection. */
const BEFORE: ReadonlySet<string> = new Set(['getaddrinfo', 'connect'])

/** Codes of Node, Bun and undici. Excludes codes that established connections also produce, such as ETIMEDOUT. */
const CODES: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/** Deno has no codes. Its message names the phase after the URL, which must not be quoted. */
const DENO_CONNECT = 'client error (Connect)'

/** Maximum depth of causes; a longer chain is circular. */
const DEEPEST = 5
const CODE_FORM = /^[A-Za-z][A-Za-z0-9_]{1,60}$/

/**
 * Reads any value that `fetch` rejected with. `fetch` does not report its progress, so only errors of name resolution, connection
 * or certificates prove that the request did not reach the service: they precede its first byte. After any other error, the
 * request may have arrived. `reason` is the runtime's code or name, and never its message, which may quote the request.
 */
function readFailure(error: unknown) {
  try {
    const chain = chainOf(error)
    const codes = chain.map((each) => wordOf(each, 'code')).filter((code) => code !== undefined)
    return {
      isUnreached: chain.some(isBefore),
      reason: codes[0] ?? (chain.some(isOfDeno) ? 'connect' : chain.map((each) => wordOf(each, 'name')).at(-1)),
    }
  } catch {
    // A getter or proxy of a custom `fetch` may throw.
    return { isUnreached: false, reason: undefined }
  }
}

function chainOf(error: unknown): readonly object[] {
  const chain: object[] = []
  let next = error
  while (typeof next === 'object' && next !== null && chain.length < DEEPEST) {
    chain.push(next)
    next = Reflect.get(next, 'cause')
  }
  return chain
}

function isBefore(error: object): boolean {
  // One error for each address that was tried.
  const tried: unknown = Reflect.get(error, 'errors')
  const all: readonly unknown[] = Array.isArray(tried) ? tried : []
  if (all.length > 0) return all.every((each) => typeof each === 'object' && each !== null && isBeforeAlone(each))
  return isBeforeAlone(error)
}

function isBeforeAlone(error: object): boolean {
  const syscall = wordOf(error, 'syscall')
  if (syscall !== undefined) return BEFORE.has(syscall)
  return CODES.has(wordOf(error, 'code') ?? '') || isOfDeno(error)
}

function isOfDeno(error: object): boolean {
  const message: unknown = Reflect.get(error, 'message')
  return typeof message === 'string' && message.includes(DENO_CONNECT)
}

function wordOf(error: object, field: 'code' | 'name' | 'syscall'): string | undefined {
  const value: unknown = Reflect.get(error, field)
  return typeof value === 'string' && CODE_FORM.test(value) ? value : undefined
}
