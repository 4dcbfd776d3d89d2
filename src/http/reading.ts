/** Reads a body within its limits of bytes and time, and in turn if many are read at once. */
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

export type Bodies = ReturnType<typeof createBodies>

/** A body being read. */
interface Reading {
  readonly flowOf: () => Flow
  readonly announced: number | undefined
  readonly finished: (captured: Captured) => void
  readonly pieces: Buffer[]
  /** Number of trailing pieces that have not been joined. */
  loose: number
  length: number
  /** Number of pieces received. */
  reads: number
  isFinished: boolean
  /** Undefined while no bytes are held that others might wait for: a small body usually arrives in one piece. */
  reader: Reader | undefined
  cancelDeadline: (() => void) | undefined
}

/**
 * Each piece costs more memory than its bytes, so the number of pieces is limited: at the maximum body size, to pieces of 128
 * bytes, a tenth of a packet.
 */
const SMALL_PIECE_BYTES = 128
const LEAST_READS = 1_024

export function createBodies({ maxBodyBytes, bodyTimeoutMs, inflight, clock }: Bounds) {
  const mostReads = Math.max(LEAST_READS, Math.ceil(maxBodyBytes / SMALL_PIECE_BYTES))
  /** Bodies without a deadline yet. Most bodies end before pending I/O is done; only the rest get a deadline. */
  let started: Reading[] = []

  function setDeadlines(): void {
    const late = started
    started = []
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
      tooSlow(reading, 'other requests waited for its memory (`maxInflightBytes`)'),
    ))
  }

  function tooSlow(reading: Reading, why: string): void {
    finish(reading, { kind: 'failed', reason: 'body_too_slow', detail: `${arrived(reading)}, and ${why}.` })
  }

  /** The refusal of a body of more than `maxBodyBytes`. */
  function tooLarge(bytes: number | undefined, what: string): Captured | undefined {
    if (bytes === undefined || !(bytes > maxBodyBytes)) return undefined
    const detail = `${bytes} bytes ${what}; \`maxBodyBytes\` is ${maxBodyBytes}.`
    return { kind: 'failed', reason: 'body_too_large', detail }
  }

  /** The connection ended before the body. */
  function gone(reading: Reading): void {
    finish(reading, { kind: 'failed', reason: 'body_incomplete', detail: `${arrived(reading)}.` })
  }

  /** May be called several times. The first call decides. */
  function finish(reading: Reading, captured: Captured): void {
    if (reading.isFinished) return
    reading.isFinished = true
    reading.cancelDeadline?.()
    if (reading.reader !== undefined) inflight.release(reading.reader)
    reading.finished(captured)
  }

  return {
    bodyTimeoutMs,
    clock,
    /**
     * `finished` is called once: with the body, with a broken limit, or with the argument of `finish`. `flowOf` is called if the
     * body may have to wait for others.
     */
    begin(flowOf: () => Flow, announced: number | undefined, finished: (captured: Captured) => void): Reading {
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
      if (started.push(reading) === 1) clock.soon(setDeadlines)
      return reading
    },
    add(reading: Reading, piece: Buffer): void {
      if (reading.isFinished) return
      reading.length += piece.length
      reading.reads += 1
      if (reading.reads > mostReads) {
        tooSlow(reading, `in ${reading.reads} pieces; at most ${mostReads} are read`)
        return
      }
      const refused = tooLarge(reading.length, 'had arrived, and more may come')
      if (refused !== undefined) {
        finish(reading, refused)
        return
      }
      reading.pieces.push(piece)
      reading.loose += 1
      if (reading.loose === LOOSE) join(reading)
      if (reading.reader === undefined && reading.length === reading.announced) return
      inflight.add(reading.reader ?? enter(reading), piece.length)
    },
    end(reading: Reading): void {
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

/** Number of pieces that stay unjoined. */
const LOOSE = 16
/** Pieces that add up to more than this are not worth a copy. */
const NOT_SMALL_BYTES = 16 * 1024

/**
 * Joins small pieces, because each costs far more memory than its bytes. A joined piece is at least twice as long as what
 * follows it, so bytes are rarely copied again.
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
