/** A body as it arrives: within its bounds of bytes and time, and in its turn where many are read at once. */
import type { Captured } from '../callback.ts'
import type { Clock } from '../clock.ts'
import type { Flow, Inflight } from './inflight.ts'
import { createPieces, type Pieces } from './pieces.ts'

export interface ReadingOptions {
  readonly maxBodyBytes: number
  /** For the whole body, not between its parts. */
  readonly bodyTimeoutMs: number
  readonly inflight: Inflight
  readonly clock: Clock
}

interface Reading {
  readonly pieces: Pieces
  add(piece: Buffer): void
  /** Nothing more comes. */
  end(): void
  /** Nothing more comes, though more was to come. */
  gone(): void
  finish(captured: Captured): void
}

/** `finished` is called once: when the body is there, when it breaks a bound, or with what `finish` is given. */
export function beginReading(
  flow: Flow,
  announced: number | undefined,
  options: ReadingOptions,
  finished: (captured: Captured) => void,
): Reading {
  const { maxBodyBytes, bodyTimeoutMs, inflight, clock } = options
  const pieces = createPieces()
  let length = 0
  let isFinished = false
  const reader = inflight.enter(flow, announced, () => {
    finish(tooSlow('others waited for its room (`maxInflightBytes`)'))
  })
  let cancelDeadline = clock.setTimer(onDeadline, bodyTimeoutMs)

  function onDeadline(): void {
    const waitedMs = inflight.waitedMs(reader)
    if (waitedMs > 0) cancelDeadline = clock.setTimer(onDeadline, waitedMs)
    else finish(tooSlow(`\`bodyTimeoutMs\` is ${bodyTimeoutMs}`))
  }

  function tooSlow(why: string): Captured {
    return { kind: 'failed', reason: 'body_too_slow', detail: `${arrived(length, announced)}, and ${why}.` }
  }

  /** May be called again by whatever ends later; the first call decides. */
  function finish(captured: Captured): void {
    if (isFinished) return
    isFinished = true
    cancelDeadline()
    inflight.release(reader)
    finished(captured)
  }

  return {
    pieces,
    add(piece) {
      length += piece.length
      if (length > maxBodyBytes) {
        finish(tooLarge(`${length} bytes had arrived, and more may come`, options))
        return
      }
      pieces.add(piece)
      inflight.add(reader, piece.length)
    },
    end() {
      if (announced !== undefined && announced !== length) finish(incomplete(length, announced))
      else finish(exact(pieces.whole()))
    },
    gone: () => finish(incomplete(length, announced)),
    finish,
  }
}

export function exact(bytes: Buffer, decoded = false): Captured {
  return { kind: 'exact', bytes, decoded }
}

export function tooLarge(what: string, { maxBodyBytes }: Pick<ReadingOptions, 'maxBodyBytes'>): Captured {
  return { kind: 'failed', reason: 'body_too_large', detail: `${what}; \`maxBodyBytes\` is ${maxBodyBytes}.` }
}

function incomplete(length: number, announced: number | undefined): Captured {
  return { kind: 'failed', reason: 'body_incomplete', detail: `${arrived(length, announced)}.` }
}

function arrived(length: number, announced: number | undefined): string {
  return announced === undefined ? `${length} bytes had arrived` : `${length} of ${announced} bytes had arrived`
}
