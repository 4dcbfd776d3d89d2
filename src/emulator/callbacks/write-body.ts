/** How the body of a request gets onto the wire: whole, in pieces, slowly, or not to its end. */
import type { ClientRequest } from 'node:http'
import type { Clock } from '../../clock.ts'
import { wholeNumber } from '../faults/draws.ts'
import type { PlannedRequest } from '../faults/plan.ts'
import { inPieces } from './pieces.ts'

const SHORTEST_SLOW_MS = 100
const LONGEST_SLOW_MS = 1_000

/** What a slow body takes by itself, in milliseconds; 0 for any other. */
export function slowMsOf({ faults, draw }: PlannedRequest): number {
  return faults.has('slowBody') ? wholeNumber(draw('slow'), SHORTEST_SLOW_MS, LONGEST_SLOW_MS) : 0
}

interface WriteOptions {
  readonly clock: Clock
  /** Called as the connection is about to be cut in the middle of the body. */
  readonly onCut: () => void
}

/** Writes it and ends the request, or cuts its connection half-way. Returns the function that stops the writing. */
export function writeBody(
  request: ClientRequest,
  body: Buffer,
  planned: PlannedRequest,
  { clock, onCut }: WriteOptions,
): () => void {
  const { faults, draw } = planned
  const isCut = faults.has('connectionReset')
  const written = isCut ? body.subarray(0, Math.ceil(body.length / 2)) : body
  const pieces = faults.has('slowBody') || faults.has('chunkedBody') ? inPieces(written, draw) : [written]
  const pauseMs = slowMsOf(planned) / pieces.length
  let cancelPause = (): void => {}

  function write(nth: number): void {
    const piece = pieces[nth]
    if (request.destroyed) return
    if (piece === undefined) end()
    else
      request.write(piece, () => {
        if (nth + 1 === pieces.length || pauseMs === 0) write(nth + 1)
        else cancelPause = clock.setTimer(() => write(nth + 1), pauseMs, true)
      })
  }

  function end(): void {
    if (!isCut) {
      request.end()
      return
    }
    onCut()
    const { socket } = request
    // Node resets TCP sockets only; a TLS one is closed without a farewell, which cuts the body off as well.
    if (socket !== null && 'encrypted' in socket) socket.destroy()
    else socket?.resetAndDestroy()
  }

  write(0)
  return () => cancelPause()
}
