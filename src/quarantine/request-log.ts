/**
 * What the quarantine keeps, beside it on the disk, so that it outlives the process. Memory is the truth: nothing waits
 * for the disk, and what cannot be written yet is written later, the most precious first. Nothing is fsynced, for this
 * is to survive a restart. Why no snapshots: a stranger who sends a few megabytes slowly would have gigabytes written.
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
/** What a request takes beside its body, about. */
const BYTES_A_REQUEST = 512
/** A flood of requests must not wear the disk out, nor keep it from the store. */
const BYTES_A_SECOND = 8 * 1024 * 1024
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

export function createRequestLog({ fs, clock, folder, report }: RequestLogOptions) {
  const entries = new Map<string, Entry>()
  /** Entries whose newest state is not written. */
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

  /** Takes out what to write next, the most precious class first, about as many bytes as a batch has. */
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

  /** Does what there is to do, and tries again after a pause where that fails. */
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
      // Memory may have let go of one while it was written, and it may have come again as another.
      const bytes = await files.append(batch, isKept)
      throttle.spend(bytes)
    } catch (error) {
      for (const entry of batch) if (isKept(entry)) waiting.add(entry)
      throw error
    }
  }

  function isKept(entry: Entry): boolean {
    return entries.get(entry.request.id) === entry
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
      const entry = entries.get(request.id) ?? { request, place: undefined }
      entry.request = request
      entries.set(request.id, entry)
      waiting.add(entry)
      wake()
    },
    removed({ id }) {
      const entry = entries.get(id)
      if (entry === undefined) return
      entries.delete(id)
      waiting.delete(entry)
      if (entry.place === undefined) return
      files.erase(entry.place)
      wake()
    },
    cleared() {
      isCleared = true
      entries.clear()
      waiting.clear()
      files.eraseAll()
      wake()
    },
  }

  return {
    changes,
    /** Loads what dead processes left; `restore` says what is kept of it. Never rejects; later calls wait for the first. */
    open(restore: (remembered: Remembered) => KeptRequest | undefined): Promise<void> {
      opened ??= files
        .load((remembered, place) => {
          const request = isCleared ? undefined : restore(remembered)
          if (request === undefined) return false
          const entry = { request, place }
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
    /** What was removed until now is written over; not where the disk fails, which is reported. */
    async overwritten(): Promise<void> {
      cancelPause?.()
      cancelPause = undefined
      wake()
      // Whoever is woken meanwhile begins anew.
      while (running !== undefined) await running
    },
    /** Writes what is not written yet, and leaves it to the next process. */
    async close(deadlineMs: number): Promise<void> {
      isClosing = true
      if (opened === undefined) return
      await withDeadline(clock, deadlineMs, flush().catch(failed), () => {})
    },
    /** The requests that are in memory only. */
    unwritten: (): readonly KeptRequest[] =>
      [...entries.values()].filter(({ place }) => place === undefined).map(({ request }) => request),
  }
}

/** How long until more may be written: so many bytes a second, and no more than a second's worth at once. */
function createThrottle(clock: Clock) {
  let left = BYTES_A_SECOND
  let countedMs = clock.now()
  return {
    waitMs(): number {
      const nowMs = clock.now()
      // A clock that was set back earns nothing, and is counted from where it stands now.
      left = Math.min(BYTES_A_SECOND, left + (Math.max(0, nowMs - countedMs) / 1_000) * BYTES_A_SECOND)
      countedMs = nowMs
      return left > 0 ? 0 : Math.ceil(((1 - left) / BYTES_A_SECOND) * 1_000)
    },
    // What is larger than all that is left is written once anything is: it is owed.
    spend: (bytes: number): void => void (left -= bytes),
  }
}
