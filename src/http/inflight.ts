/**
 * A bound on the bytes of bodies that are being read, over all requests. Past it reading pauses instead of failing; the
 * one that has been reading longest always goes on, so that somebody finishes.
 */
import type { Readable } from 'node:stream'

export interface Inflight {
  /** Counts what a stream has delivered, and pauses or resumes it. Call `release` when its bytes are gone. */
  enter(stream: Readable): InflightReader
}

export interface InflightReader {
  add(bytes: number): void
  release(): void
}

interface Reader {
  readonly stream: Readable
  held: number
  paused: boolean
}

export function createInflight(maxBytes: number): Inflight {
  let bytes = 0
  /**
   * In order of arrival: the first is the one that may always read. No Set: where members come and go all the time, V8 makes
   * a table after the other, and an old one keeps the next, and the streams in it, until the whole heap is collected.
   */
  const readers: Reader[] = []

  function resumeWhatMay(): void {
    let isOldest = true
    for (const reader of readers) {
      if (reader.paused && (isOldest || bytes < maxBytes)) {
        reader.paused = false
        reader.stream.resume()
      }
      isOldest = false
    }
  }

  return {
    enter(stream) {
      const reader = { stream, held: 0, paused: false }
      readers.push(reader)
      return {
        add(count) {
          reader.held += count
          bytes += count
          if (bytes >= maxBytes && readers[0] !== reader) {
            reader.paused = true
            stream.pause()
          }
        },
        release() {
          const place = readers.indexOf(reader)
          if (place === -1) return
          readers.splice(place, 1)
          bytes -= reader.held
          resumeWhatMay()
        },
      }
    },
  }
}
