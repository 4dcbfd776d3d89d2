/** Posts once, on a new connection, without redirects or retries. Contract, service.md#delivery-rules. */
import http, { type ClientRequest } from 'node:http'
import https from 'node:https'
import { pause, type Clock } from '../runtime/clock.ts'
import type { PlannedRequest } from './faults.ts'
import type { EmulatorSettings } from './options.ts'
import { wholeNumber, type Draw } from './random.ts'
import type { BuiltRequest, Delivery } from './request.ts'

interface Posted extends Pick<Delivery, 'status' | 'error'> {
  /** The receiver was reached. */
  readonly connected: boolean
  /** The whole body was passed to the network. */
  readonly whole: boolean
}

/**
 * Posts the request with its planned faults. The timeout covers the whole exchange, in addition to the duration of a slow body.
 * Rejects only if Node cannot post to the URL, before anything is sent.
 */
export function post(
  target: URL,
  { body, signature }: BuiltRequest,
  planned: PlannedRequest,
  clock: Clock,
  signal: AbortSignal,
  { callbackTimeoutMs: timeoutMs, ca }: EmulatorSettings,
): Promise<Posted> {
  const { faults } = planned
  return new Promise((resolve) => {
    let connected = false
    let whole = false
    let isCut = false
    let status: number | undefined
    let cancelTimer = (): void => {}
    const ended = new AbortController()
    const secure = target.protocol === 'https:'
    const request = (secure ? https : http).request(target, {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(signature === undefined ? {} : { 'x-service-signature': signature }),
        ...(faults.has('chunkedBody') ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) }),
      },
      ...(secure && ca !== undefined ? { ca } : {}),
    })

    /** The status is known even if the answer breaks off or never ends. Later calls have no effect. */
    function finish(error: string): void {
      cancelTimer()
      ended.abort()
      signal.removeEventListener('abort', onAbort)
      resolve({ connected, whole, ...(status === undefined ? { error } : { status }) })
      request.destroy()
    }
    function onAbort(): void {
      finish('the sender was closed')
    }

    request.once('socket', (socket) => void socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true)))
    request.once('finish', () => (whole = true))
    request.once('response', (response) => {
      status = response.statusCode
      response.resume().once('close', () => finish(''))
    })
    request.on('error', (error) => finish(isCut ? 'reset, as planned' : codeOf(error)))
    request.once('close', () => finish('closed without an answer'))
    cancelTimer = clock.setTimer(() => finish(`no answer within ${timeoutMs} ms`), timeoutMs + slowMsOf(planned), true)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)

    void writeBody(request, body, planned, { clock, signal: ended.signal, onCut: () => (isCut = true) })
  })
}

/** Node's messages contain hosts and ports. */
function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : 'failed'
}

const SHORTEST_SLOW_MS = 100
const LONGEST_SLOW_MS = 1_000

/** Duration of a slow body in milliseconds; 0 for others. */
function slowMsOf({ faults, draw }: PlannedRequest): number {
  return faults.has('slowBody') ? wholeNumber(draw('slow'), SHORTEST_SLOW_MS, LONGEST_SLOW_MS) : 0
}

/** Writes the body, whole or in pieces, and ends the request; or calls `onCut` and cuts the connection half-way. */
async function writeBody(
  request: ClientRequest,
  body: Buffer,
  planned: PlannedRequest,
  { clock, signal, onCut }: { readonly clock: Clock; readonly signal: AbortSignal; readonly onCut: () => void },
): Promise<void> {
  const { faults, draw } = planned
  const isCut = faults.has('connectionReset')
  const written = isCut ? body.subarray(0, Math.ceil(body.length / 2)) : body
  const pieces = faults.has('slowBody') || faults.has('chunkedBody') ? inPieces(written, draw) : [written]
  const pauseMs = slowMsOf(planned) / pieces.length
  for (const [nth, piece] of pieces.entries()) {
    if (nth > 0 && pauseMs > 0) await pause(clock, pauseMs, signal)
    await new Promise((resolve) => request.write(piece, resolve))
    if (request.destroyed) return
  }
  if (!isCut) {
    request.end()
    return
  }
  onCut()
  const { socket } = request
  // Node can reset only TCP sockets. Destroying a TLS socket also cuts the body off.
  if (socket !== null && 'encrypted' in socket) socket.destroy()
  else socket?.resetAndDestroy()
}

const FEWEST_PIECES = 2
const MAX_PIECES = 6

/** Two to six non-empty pieces. A body of one byte stays whole. */
function inPieces(body: Buffer, draw: Draw): readonly Buffer[] {
  const wanted = wholeNumber(draw('pieces'), FEWEST_PIECES, MAX_PIECES)
  const cuts = new Set<number>()
  for (let nth = 1; nth < wanted && body.length > 1; nth += 1)
    cuts.add(wholeNumber(draw(`cut ${nth}`), 1, body.length - 1))
  const ends = [...cuts].sort((a, b) => a - b)
  return [...ends, body.length].map((end, nth) => body.subarray(ends[nth - 1] ?? 0, end))
}
