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

export function createInflight(maxBytes: number): Inflight {
  let bytes = 0
  /** In order of arrival: the first is the one that may always read. */
  const readers = new Set<{ readonly stream: Readable; held: number; paused: boolean }>()

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
      readers.add(reader)
      return {
        add(count) {
          reader.held += count
          bytes += count
          const [oldest] = readers
          if (bytes >= maxBytes && oldest !== reader) {
            reader.paused = true
            stream.pause()
          }
        },
        release() {
          if (!readers.delete(reader)) return
          bytes -= reader.held
          resumeWhatMay()
        },
      }
    },
  }
}
