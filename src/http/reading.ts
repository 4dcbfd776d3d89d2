/** A body as it arrives: within its bounds of bytes and time, and in its turn where many are read at once. */
import type { Captured } from '../public/callback.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Flow, Inflight, Reader } from './inflight.ts'

interface Bounds {
  readonly maxBodyBytes: number
  /** For the whole body, not between its parts. */
  readonly bodyTimeoutMs: number
  readonly inflight: Inflight
  readonly clock: Clock
}

export interface Bodies extends Omit<Bounds, 'inflight'> {
  /**
   * `finished` is called once: when the body is there, when it breaks a bound, or with what `finish` is given. `flowOf` is
   * called where the body may have to wait for others.
   */
  begin(flowOf: () => Flow, announced: number | undefined, finished: (captured: Captured) => void): Reading
  add(reading: Reading, piece: Buffer): void
  /** Nothing more comes. */
  end(reading: Reading): void
  /** Nothing more comes, though more was to come. */
  gone(reading: Reading): void
  /** May be called again by whatever ends later; the first call decides. */
  finish(reading: Reading, captured: Captured): void
  tooLarge(what: string): Captured
}

/** One body. */
export interface Reading {
  readonly flowOf: () => Flow
  readonly announced: number | undefined
  readonly finished: (captured: Captured) => void
  readonly pieces: Buffer[]
  /** Of the pieces, those at the end that came one by one. */
  loose: number
  length: number
  /** In how many pieces it has come so far. */
  reads: number
  isFinished: boolean
  /** Undefined as long as nothing of it is held that others might wait for: a small one may come whole. */
  reader: Reader | undefined
  cancelDeadline: (() => void) | undefined
}

/**
 * Each piece costs far more than its bytes, so a body may come in so many: in pieces of 128 bytes where it is as large as it may be,
 * which is a tenth of what a packet carries.
 */
const SMALL_PIECE_BYTES = 128
const LEAST_READS = 1_024

export function createBodies({ maxBodyBytes, bodyTimeoutMs, inflight, clock }: Bounds): Bodies {
  const mostReads = Math.max(LEAST_READS, Math.ceil(maxBodyBytes / SMALL_PIECE_BYTES))
  /** Most bodies are there before their deadline need be set: it is, after the I/O under way, for those that are not. */
  let begun: Reading[] = []

  function setDeadlines(): void {
    const late = begun
    begun = []
    for (const reading of late) if (!reading.isFinished) setDeadline(reading, bodyTimeoutMs)
  }

  function setDeadline(reading: Reading, timeoutMs: number): void {
    reading.cancelDeadline = clock.setTimer(() => {
      const waitedMs = reading.reader === undefined ? 0 : inflight.waitedMs(reading.reader)
      if (waitedMs > 0) setDeadline(reading, waitedMs)
      else tooSlow(reading, `\`bodyTimeoutMs\` is ${bodyTimeoutMs}`)
    }, timeoutMs)
  }

  function enter(reading: Reading): Reader {
    return (reading.reader = inflight.enter(reading.flowOf(), reading.announced, () =>
      tooSlow(reading, 'others waited for its room (`maxInflightBytes`)'),
    ))
  }

  function tooSlow(reading: Reading, why: string): void {
    finish(reading, { kind: 'failed', reason: 'body_too_slow', detail: `${arrived(reading)}, and ${why}.` })
  }

  function tooLarge(what: string): Captured {
    return { kind: 'failed', reason: 'body_too_large', detail: `${what}; \`maxBodyBytes\` is ${maxBodyBytes}.` }
  }

  function gone(reading: Reading): void {
    finish(reading, { kind: 'failed', reason: 'body_incomplete', detail: `${arrived(reading)}.` })
  }

  function finish(reading: Reading, captured: Captured): void {
    if (reading.isFinished) return
    reading.isFinished = true
    reading.cancelDeadline?.()
    if (reading.reader !== undefined) inflight.release(reading.reader)
    reading.finished(captured)
  }

  return {
    maxBodyBytes,
    bodyTimeoutMs,
    clock,
    begin(flowOf, announced, finished) {
      const reading: Reading = {
        flowOf,
        announced,
        finished,
        pieces: [],
        loose: 0,
        length: 0,
        reads: 0,
        isFinished: false,
        reader: undefined,
        cancelDeadline: undefined,
      }
      if (announced !== undefined && announced > inflight.smallBytes) enter(reading)
      if (begun.push(reading) === 1) clock.soon(setDeadlines)
      return reading
    },
    add(reading, piece) {
      if (reading.isFinished) return
      reading.length += piece.length
      reading.reads += 1
      if (reading.reads > mostReads) {
        tooSlow(reading, `in ${reading.reads} pieces; at most ${mostReads} are read`)
        return
      }
      if (reading.length > maxBodyBytes) {
        finish(reading, tooLarge(`${reading.length} bytes had arrived, and more may come`))
        return
      }
      reading.pieces.push(piece)
      reading.loose += 1
      if (reading.loose === LOOSE) join(reading)
      if (reading.reader === undefined && reading.length === reading.announced) return
      inflight.add(reading.reader ?? enter(reading), piece.length)
    },
    end(reading) {
      const { announced, length, pieces } = reading
      if (announced !== undefined && announced !== length) {
        gone(reading)
        return
      }
      const [only] = pieces
      const bytes = only === undefined || pieces.length > 1 ? Buffer.concat(pieces) : only
      finish(reading, { kind: 'exact', bytes, decoded: false })
    },
    gone,
    finish,
    tooLarge,
  }
}

function arrived({ announced, length }: Reading): string {
  return announced === undefined ? `${length} bytes had arrived` : `${length} of ${announced} bytes had arrived`
}

/** So many are left as they came. */
const LOOSE = 16
/** As many with more bytes than this are worth no copy. */
const NOT_SMALL_BYTES = 16 * 1024

/**
 * Many small pieces cost far more than their bytes, so those are joined; what was joined before is at least twice as long as
 * what stands behind it, so that no byte is copied often.
 */
function join(reading: Reading): void {
  const { pieces } = reading
  reading.loose = 0
  let first = pieces.length - LOOSE
  let length = 0
  for (let at = first; at < pieces.length; at += 1) length += pieces[at]?.length ?? 0
  if (length > NOT_SMALL_BYTES) return
  for (let before = pieces[first - 1]; before !== undefined && before.length < 2 * length; before = pieces[first - 1]) {
    length += before.length
    first -= 1
  }
  pieces.push(Buffer.concat(pieces.splice(first), length))
}
