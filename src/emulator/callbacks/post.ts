/** One POST: on a connection of its own, without redirects, without a second try. Contract, service.md#delivery-rules. */
import http from 'node:http'
import https from 'node:https'
import type { Clock } from '../../clock.ts'
import type { PlannedRequest } from '../faults/plan.ts'
import type { BuiltRequest } from './request.ts'
import { slowMsOf, writeBody } from './write-body.ts'

interface PostOptions {
  readonly clock: Clock
  /** From the start to the end of the answer, without what a slow body takes by itself. */
  readonly timeoutMs: number
  /** Cuts the request off. */
  readonly signal: AbortSignal
  /** Authorities that are trusted for https, in PEM. */
  readonly ca?: string | Buffer | undefined
}

export interface Posted {
  /** The other side was reached. */
  readonly connected: boolean
  /** Every byte of the body was handed to the network. */
  readonly whole: boolean
  readonly status?: number
  readonly error?: string
}

/** An answer with more than this in its body is not read to its end: its status is all that counts. */
const LONGEST_ANSWER_BYTES = 1024 * 1024

/** Posts it with the faults of the way. Rejects only for a URL that Node cannot post to, before anything is sent. */
export function post(
  target: URL,
  { body, signatures }: BuiltRequest,
  planned: PlannedRequest,
  { clock, timeoutMs, signal, ca }: PostOptions,
): Promise<Posted> {
  const { faults } = planned
  return new Promise((resolve) => {
    let connected = false
    let whole = false
    let isCut = false
    let cancelTimer = (): void => {}
    let cancelWriting = (): void => {}
    const secure = target.protocol === 'https:'
    const request = (secure ? https : http).request(target, {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(signatures.length === 0 ? {} : { 'x-service-signature': [...signatures] }),
        ...(faults.has('chunkedBody') ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) }),
      },
      ...(secure && ca !== undefined ? { ca } : {}),
    })

    /** The first call decides. */
    function finish(result: { readonly status: number } | { readonly error: string }): void {
      cancelTimer()
      cancelWriting()
      signal.removeEventListener('abort', onAbort)
      resolve({ connected, whole, ...result })
      request.destroy()
    }
    function onAbort(): void {
      finish({ error: 'the sender was closed' })
    }

    request.once('socket', (socket) => void socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true)))
    request.once('finish', () => {
      whole = true
      if (faults.has('halfClose')) request.socket?.end()
    })
    request.once('response', (response) => {
      const status = response.statusCode ?? 0
      let read = 0
      response.on('data', (chunk: Buffer) => {
        read += chunk.length
        if (read > LONGEST_ANSWER_BYTES) finish({ status })
      })
      // An answer that breaks off has told its status.
      response.once('close', () => finish({ status }))
    })
    request.on('error', (error) => finish({ error: isCut ? 'reset, as planned' : wordsFor(error) }))
    request.once('close', () => finish({ error: 'closed without an answer' }))
    cancelTimer = clock.setTimer(
      () => finish({ error: `no answer within ${timeoutMs} ms` }),
      timeoutMs + slowMsOf(planned),
      true,
    )
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)

    cancelWriting = writeBody(request, body, planned, { clock, onCut: () => (isCut = true) })
  })
}

/** Why there was no answer. Node's own texts name hosts and ports; its codes do not. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed by the other side',
  ETIMEDOUT: 'connecting took too long',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: 'host unreachable',
}

function wordsFor(error: Error): string {
  const code: unknown = 'code' in error ? error.code : undefined
  if (typeof code !== 'string') return 'failed'
  return Object.hasOwn(WORDS, code) ? (WORDS[code] ?? code) : code
}
