/** A body as it arrives: within its bounds of bytes and time, and in its turn where many are read at once. */
import type { Captured } from '../callback.ts'
import type { Clock } from '../clock.ts'
import type { Flow, Inflight, Reader } from './inflight.ts'

export interface Bounds {
  readonly maxBodyBytes: number
  /** For the whole body, not between its parts. */
  readonly bodyTimeoutMs: number
  readonly inflight: Inflight
  readonly clock: Clock
}

export interface Bodies extends Bounds {
  /** `finished` is called once: when the body is there, when it breaks a bound, or with what `finish` is given. */
  begin(flow: Flow, announced: number | undefined, finished: (captured: Captured) => void): Reading
}

/** Most bodies are there before their deadline need be set: it is, after the I/O under way, for those that are not. */
export function createBodies(bounds: Bounds): Bodies {
  const { clock } = bounds
  let begun: Reading[] = []

  function setDeadlines(): void {
    const late = begun
    begun = []
    for (const reading of late) reading.setDeadline()
  }

  return {
    ...bounds,
    begin(flow, announced, finished) {
      const reading = new Reading(bounds, flow, announced, finished)
      if (begun.push(reading) === 1) clock.soon(setDeadlines)
      return reading
    },
  }
}

/** One body. A class, for every request has one. */
export class Reading {
  readonly pieces = new Pieces()
  readonly #bounds: Bounds
  readonly #flow: Flow
  readonly #announced: number | undefined
  readonly #finished: (captured: Captured) => void
  #length = 0
  #isFinished = false
  /** Undefined as long as nothing of it is held that others might wait for: a small one may come whole. */
  #reader: Reader | undefined
  #cancelDeadline: (() => void) | undefined

  constructor(bounds: Bounds, flow: Flow, announced: number | undefined, finished: (captured: Captured) => void) {
    this.#bounds = bounds
    this.#flow = flow
    this.#announced = announced
    this.#finished = finished
    if (announced !== undefined && bounds.inflight.isLarge(announced)) this.#enter()
  }

  get isFinished(): boolean {
    return this.#isFinished
  }

  add(piece: Buffer): void {
    if (this.#isFinished) return
    this.#length += piece.length
    if (this.#length > this.#bounds.maxBodyBytes) {
      this.finish(tooLarge(`${this.#length} bytes had arrived, and more may come`, this.#bounds))
      return
    }
    this.pieces.add(piece)
    if (this.#reader === undefined && this.#length === this.#announced) return
    this.#bounds.inflight.add(this.#reader ?? this.#enter(), piece.length)
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#announced !== undefined && this.#announced !== this.#length) this.gone()
    else this.finish(exact(this.pieces.whole()))
  }

  /** Nothing more comes, though more was to come. */
  gone(): void {
    this.finish({ kind: 'failed', reason: 'body_incomplete', detail: `${this.#arrived()}.` })
  }

  /** May be called again by whatever ends later; the first call decides. */
  finish(captured: Captured): void {
    if (this.#isFinished) return
    this.#isFinished = true
    this.#cancelDeadline?.()
    if (this.#reader !== undefined) this.#bounds.inflight.release(this.#reader)
    this.#finished(captured)
  }

  setDeadline(timeoutMs = this.#bounds.bodyTimeoutMs): void {
    if (this.#isFinished) return
    this.#cancelDeadline = this.#bounds.clock.setTimer(() => this.#judge(), timeoutMs)
  }

  #judge(): void {
    const { inflight, bodyTimeoutMs } = this.#bounds
    const waitedMs = this.#reader === undefined ? 0 : inflight.waitedMs(this.#reader)
    if (waitedMs > 0) this.setDeadline(waitedMs)
    else this.#tooSlow(`\`bodyTimeoutMs\` is ${bodyTimeoutMs}`)
  }

  #enter(): Reader {
    this.#reader = this.#bounds.inflight.enter(this.#flow, this.#announced, () =>
      this.#tooSlow('others waited for its room (`maxInflightBytes`)'),
    )
    return this.#reader
  }

  #tooSlow(why: string): void {
    this.finish({ kind: 'failed', reason: 'body_too_slow', detail: `${this.#arrived()}, and ${why}.` })
  }

  #arrived(): string {
    return this.#announced === undefined
      ? `${this.#length} bytes had arrived`
      : `${this.#length} of ${this.#announced} bytes had arrived`
  }
}

export function exact(bytes: Buffer, decoded = false): Captured {
  return { kind: 'exact', bytes, decoded }
}

export function tooLarge(what: string, { maxBodyBytes }: Pick<Bounds, 'maxBodyBytes'>): Captured {
  return { kind: 'failed', reason: 'body_too_large', detail: `${what}; \`maxBodyBytes\` is ${maxBodyBytes}.` }
}

/** So many are left as they came. */
const LOOSE = 16
/** As many with more bytes than this are worth no copy. */
const NOT_SMALL_BYTES = 16 * 1024

/**
 * The pieces of a body as they arrive; most are a single one, which is not copied. Many small ones cost far more than their
 * bytes, so those are joined.
 */
export class Pieces {
  #first: Buffer | undefined
  /** What was joined is at most half as long as what stands before it, so that no byte is copied often. */
  #joined: Buffer[] | undefined
  #loose: Buffer[] | undefined

  add(piece: Buffer): void {
    if (this.#first === undefined) {
      this.#first = piece
      return
    }
    const loose = (this.#loose ??= [this.#first])
    loose.push(piece)
    if (loose.length < LOOSE) return
    join((this.#joined ??= []), loose)
    this.#loose = []
  }

  /** All of them as one. */
  whole(): Buffer {
    if (this.#loose === undefined) return this.#first ?? Buffer.alloc(0)
    return Buffer.concat([...(this.#joined ?? []), ...this.#loose])
  }
}

function join(joined: Buffer[], loose: readonly Buffer[]): void {
  let length = lengthOf(loose)
  if (length > NOT_SMALL_BYTES) joined.push(...loose)
  else {
    let first = joined.length
    for (let last = joined.at(-1); last !== undefined && last.length < 2 * length; last = joined[first - 1]) {
      length += last.length
      first -= 1
    }
    joined.push(Buffer.concat([...joined.splice(first), ...loose], length))
  }
}

function lengthOf(pieces: readonly Buffer[]): number {
  let length = 0
  for (const piece of pieces) length += piece.length
  return length
}
