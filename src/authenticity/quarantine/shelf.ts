/** The requests of one class, in order of arrival, and what they take. */
import type { ExactCallback, KeptRequest, QuarantineClass } from './request.ts'

export interface Shelf {
  readonly maxBytes: number
  bytes: number
  /** By sequence. */
  readonly requests: KeptRequest[]
}

/**
 * How much of all the room a class may fill. No class that a stranger can fill leaves a better one without room; a better
 * one takes it from the worst, newest first, so that what came before a flood stays.
 */
const SHARES: Readonly<Record<QuarantineClass, number>> = {
  provedButStale: 1 / 2,
  unverified: 1 / 2,
  looksLikeOurs: 1 / 2,
  rest: 1 / 8,
}
/** What a request takes beside its bytes and texts: about 900 bytes, measured. */
const BYTES_A_REQUEST = 1_024

export function newShelf(name: QuarantineClass, maxBytesOfAll: number): Shelf {
  return { maxBytes: maxBytesOfAll * SHARES[name], bytes: 0, requests: [] }
}

export function addTo(shelf: Shelf, request: KeptRequest): void {
  shelf.requests.splice(placeOf(shelf.requests, request.sequence), 0, request)
  shelf.bytes += sizeOf(request.callback)
}

export function takeFrom(shelf: Shelf, request: KeptRequest): void {
  shelf.requests.splice(placeOf(shelf.requests, request.sequence), 1)
  shelf.bytes -= sizeOf(request.callback)
}

export function sizeOf({ captured, signatures, contentEncoding }: ExactCallback): number {
  const texts = signatures.reduce((sum, value) => sum + value.length, contentEncoding?.length ?? 0)
  return captured.bytes.length + texts + BYTES_A_REQUEST
}

/** The index of this sequence, or where it would stand. */
function placeOf(requests: readonly KeptRequest[], sequence: number): number {
  let low = 0
  let high = requests.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((requests[middle]?.sequence ?? Infinity) < sequence) low = middle + 1
    else high = middle
  }
  return low
}

/** Small buffers are slices of larger ones, which would all be kept with them. */
export function withOwnBytes(callback: ExactCallback): ExactCallback {
  const { bytes } = callback.captured
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return { ...callback, captured: { ...callback.captured, bytes: own } }
}
