/**
 * Writes the quarantine to disk, so that it survives restarts. Memory is authoritative: nothing waits for the disk, and failed
 * writes are retried, best class first. It does not call fsync, because the quarantine need not survive a power failure. It
 * writes no snapshots, because an attacker who slowly sends a few megabytes would cause gigabytes of writes.
 */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import type { FileSystem } from '../disk-log/file-system.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { KeeperChanges } from './keeper.ts'
import { createRequestFiles, type Entry, type Remembered } from './request-files.ts'
import { QUARANTINE_CLASSES, type KeptRequest } from './request.ts'

interface RequestLogOptions {
  readonly fs: FileSystem
  readonly clock: Clock
  readonly folder: string
  readonly report: (error: MessagingWebhooksError) => void
}

const BATCH_BYTES = 256 * 1024
/** Approximate overhead of a request beyond its body. */
const BYTES_A_REQUEST = 512
/** A flood of requests must not wear out the disk or slow down the store. */
const BYTES_A_SECOND = 8 * 1024 * 1024
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

export function createRequestLog({ fs, clock, folder, report }: RequestLogOptions) {
  const entries = new Map<string, Entry>()
  /** Entries whose latest state is not written. */
  const waiting = new Set<Entry>()
  const files = createRequestFiles({
    ...{ fs, folder, failed },
    moving(file) {
      for (const entry of entries.values()) if (entry.place?.file === file) waiting.add(entry)
    },
  })
  const throttle = createThrottle(clock)
  let opened: Promise<void> | undefined
  let running: Promise<void> | undefined
  let cancelPause: (() => void) | undefined
  let pauseMs = FIRST_PAUSE_MS
  let isWoken = false
  let saidUnwritten = false
  let isCleared = false
  let isClosing = false

  function failed(cause: unknown): void {
    if (!saidUnwritten) report(new MessagingWebhooksError('quarantine_unwritten', undefined, { cause }))
    saidUnwritten = true
  }

  /** Removes the next batch from `waiting`, best class first. */
  function takeBatch(): readonly Entry[] {
    const batch: Entry[] = []
    let left = BATCH_BYTES
    for (const name of QUARANTINE_CLASSES)
      for (const entry of waiting) {
        if (left <= 0) return batch
        if (entry.request.class !== name) continue
        left -= entry.request.callback.captured.bytes.length + BYTES_A_REQUEST
        waiting.delete(entry)
        batch.push(entry)
      }
    return batch
  }

  function wake(): void {
    isWoken = true
    if (opened === undefined || running !== undefined || cancelPause !== undefined || isClosing) return
    running = opened.then(work).then(() => {
      running = undefined
      if (isWoken) wake()
    })
  }

  function wakeIn(ms: number): void {
    if (isClosing) return
    cancelPause = clock.setTimer(() => {
      cancelPause = undefined
      wake()
    }, ms)
  }

  /** Writes and tidies until done. Retries after a pause if that fails. */
  async function work(): Promise<void> {
    try {
      while (isWoken) {
        isWoken = false
        await files.tidy()
        if (waiting.size === 0) continue
        const waitMs = isClosing ? 0 : throttle.waitMs()
        if (waitMs > 0) {
          wakeIn(waitMs)
          return
        }
        isWoken = true
        await writeBatch()
        pauseMs = FIRST_PAUSE_MS
        saidUnwritten = false
      }
    } catch (error) {
      failed(error)
      wakeIn(pauseMs)
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    }
  }

  async function writeBatch(): Promise<void> {
    const batch = takeBatch()
    try {
      throttle.spend(await files.append(batch))
    } catch (error) {
      for (const entry of batch) if (!entry.isRemoved) waiting.add(entry)
      throw error
    }
  }

  async function flush(): Promise<void> {
    cancelPause?.()
    await opened
    await running
    isWoken = true
    await work()
    await files.close()
  }

  const changes: KeeperChanges = {
    kept(request) {
      const entry = entries.get(request.id) ?? { request, place: undefined, isRemoved: false }
      entry.request = request
      entries.set(request.id, entry)
      waiting.add(entry)
      wake()
    },
    removed({ id }) {
      const entry = entries.get(id)
      if (entry === undefined) return
      entry.isRemoved = true
      entries.delete(id)
      waiting.delete(entry)
      if (entry.place === undefined) return
      files.erase(entry.place)
      wake()
    },
    cleared() {
      isCleared = true
      for (const entry of entries.values()) entry.isRemoved = true
      entries.clear()
      waiting.clear()
      files.eraseAll()
      wake()
    },
  }

  return {
    changes,
    /**
     * Loads the files of dead processes. `restore` returns the request if it is kept. Never rejects; later calls await the
     * first.
     */
    open(restore: (remembered: Remembered) => KeptRequest | undefined): Promise<void> {
      opened ??= files
        .load((remembered, place) => {
          const request = isCleared ? undefined : restore(remembered)
          if (request === undefined) return false
          const entry = { request, place, isRemoved: false }
          entries.set(request.id, entry)
          waiting.add(entry)
          return true
        })
        .then((damages) => {
          if (damages > 0) report(new MessagingWebhooksError('quarantine_damaged', `Places: ${damages}.`))
        })
      void opened.then(wake)
      return opened
    },
    /** Overwrites everything removed so far, unless the disk fails, which is reported. */
    async overwritten(): Promise<void> {
      cancelPause?.()
      cancelPause = undefined
      wake()
      // `wake` may start another run meanwhile.
      while (running !== undefined) await running
    },
    /** Writes pending entries and leaves the files to the next process. */
    async close(deadlineMs: number): Promise<void> {
      isClosing = true
      if (opened === undefined) return
      await withDeadline(clock, deadlineMs, flush().catch(failed), () => {})
    },
    /** Requests that are only in memory. */
    unwritten: (): readonly KeptRequest[] =>
      [...entries.values()].filter(({ place }) => place === undefined).map(({ request }) => request),
  }
}

/** Limits the write rate to `BYTES_A_SECOND`, with a burst of one second. */
function createThrottle(clock: Clock) {
  let left = BYTES_A_SECOND
  let countedMs = clock.now()
  return {
    waitMs(): number {
      const nowMs = clock.now()
      // A clock that was set back earns nothing.
      left = Math.min(BYTES_A_SECOND, left + (Math.max(0, nowMs - countedMs) / 1_000) * BYTES_A_SECOND)
      countedMs = nowMs
      return left > 0 ? 0 : Math.ceil(((1 - left) / BYTES_A_SECOND) * 1_000)
    },
    // `left` may become negative: a large batch is written at once and delays the next.
    spend: (bytes: number): void => void (left -= bytes),
  }
}
