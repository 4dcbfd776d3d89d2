/**
 * Writes the quarantine to disk, one file for each request, so that it survives restarts. Memory is authoritative: nothing waits
 * for the disk, and failed writes are retried, best class first. It does not call fsync, because the quarantine need not survive
 * a power failure.
 */
import { randomBytes } from 'node:crypto'
import { systemCode, type FileSystem } from '../disk-log/file-system.ts'
import { findLogFile } from '../disk-log/log-file.ts'
import { adoptDead, makeProcessFolder, processesIn, type ProcessFolder } from '../disk-log/process-folder.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { withDeadline, type Clock } from '../runtime/clock.ts'
import type { KeeperChanges } from './keeper.ts'
import {
  eraseRequest,
  readRequest,
  REQUEST_LOG,
  writeRequest,
  type Remembered,
  type RequestFile,
} from './request-file.ts'
import { QUARANTINE_CLASSES, type KeptRequest } from './request.ts'

/** A request in memory, and the file with its last written state. */
interface Entry {
  request: KeptRequest
  file: RequestFile | undefined
  /** The request has left the quarantine, perhaps during a write. It may arrive again as another entry. */
  isRemoved: boolean
}

interface RequestLogOptions {
  readonly fs: FileSystem
  readonly clock: Clock
  readonly folder: string
  readonly report: (error: MessagingWebhooksError) => void
}

/** Files written at the same time. */
const MAX_A_BATCH = 32
/** A flood of requests must not wear out the disk or slow down the store. */
const BYTES_A_SECOND = 8 * 1024 * 1024
/** A small file takes a block. */
const MIN_FILE_BYTES = 4 * 1024
const SECOND_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

export function createRequestLog({ fs, clock, folder, report }: RequestLogOptions) {
  const salt = randomBytes(4).readUInt32LE()
  const entries = new Map<string, Entry>()
  /** Entries whose latest state is not written. */
  const waiting = new Set<Entry>()
  /** Files of requests that have left, or of their earlier states. */
  const obsolete = new Set<RequestFile>()
  let own: ProcessFolder | undefined
  let lastNumber = 0
  let opened: Promise<void> | undefined
  let running: Promise<void> | undefined
  let cancelPause: (() => void) | undefined
  let pauseMs = SECOND_MS
  /** Bytes that may be written before the next pause of a second. */
  let leftBytes = BYTES_A_SECOND
  let saidUnwritten = false
  let isClosing = false

  function failed(cause: unknown): void {
    if (!saidUnwritten) report(new MessagingWebhooksError('quarantine_unwritten', undefined, { cause }))
    saidUnwritten = true
  }

  function wake(): void {
    if (opened === undefined || running !== undefined || cancelPause !== undefined || isClosing) return
    running = opened.then(work).then(() => {
      running = undefined
      if (obsolete.size + waiting.size > 0) wake()
    })
  }

  function wakeIn(ms: number): void {
    if (isClosing || cancelPause !== undefined) return
    cancelPause = clock.setTimer(() => {
      cancelPause = undefined
      wake()
    }, ms)
  }

  /** Erases and writes until done. Retries after a pause if that fails. */
  async function work(): Promise<void> {
    let failures = 0
    function onError(error: unknown): void {
      failed(error)
      failures += 1
    }
    // A file that cannot be erased must not stop the others from being written.
    for (const file of obsolete) await eraseFile(file).catch(onError)
    await writeWaiting().catch(onError)
    if (failures > 0) wakeIn(pauseMs)
    pauseMs = failures > 0 ? Math.min(2 * pauseMs, LONGEST_PAUSE_MS) : SECOND_MS
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.size > 0) {
      if (leftBytes <= 0 && !isClosing) {
        leftBytes = BYTES_A_SECOND
        wakeIn(SECOND_MS)
        return
      }
      const into = (own ??= await makeProcessFolder(fs, folder))
      const results = await Promise.allSettled(takeBatch().map((entry) => writeFile(entry, into.folder)))
      const failure = results.find((result) => result.status === 'rejected')
      if (failure === undefined) saidUnwritten = false
      else {
        if (systemCode(failure.reason) === 'ENOENT') await writeAgain(into)
        throw failure.reason
      }
    }
  }

  /** Removes the next batch from `waiting`, best class first. */
  function takeBatch(): readonly Entry[] {
    const rank = ({ request }: Entry): number => QUARANTINE_CLASSES.indexOf(request.class)
    const batch: Entry[] = []
    for (const entry of [...waiting].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_A_BATCH)) {
      if (leftBytes <= 0 && !isClosing) break
      leftBytes -= Math.max(entry.request.callback.captured.bytes.length, MIN_FILE_BYTES)
      waiting.delete(entry)
      batch.push(entry)
    }
    return batch
  }

  async function writeFile(entry: Entry, into: string): Promise<void> {
    const { file: before } = entry
    try {
      lastNumber += 1
      entry.file = await writeRequest(fs, into, { number: lastNumber, salt }, entry.request)
    } catch (error) {
      if (!entry.isRemoved) waiting.add(entry)
      throw error
    }
    for (const file of [before, entry.isRemoved ? entry.file : undefined])
      if (file !== undefined) {
        obsolete.add(file)
        await eraseFile(file)
      }
  }

  /** Writes every request again, because the folder was removed with all files. */
  async function writeAgain(removed: ProcessFolder): Promise<void> {
    await removed.leave().catch(() => {})
    own = undefined
    for (const entry of entries.values()) {
      entry.file = undefined
      waiting.add(entry)
    }
  }

  async function eraseFile(file: RequestFile): Promise<void> {
    await eraseRequest(fs, file)
    obsolete.delete(file)
  }

  /** Adopts and reads the files of dead processes. */
  async function load(restore: (remembered: Remembered) => KeptRequest | undefined): Promise<void> {
    let damages = 0
    try {
      if ((await processesIn(fs, folder)).dead === 0) return
      own = await makeProcessFolder(fs, folder)
      const names = await adoptDead({ fs, parent: folder, own, extension: REQUEST_LOG.extension, failed })
      lastNumber = names.length
      for (const name of names)
        try {
          const file = await findLogFile(fs, own.folder, name, REQUEST_LOG)
          const found = await readRequest(fs, file)
          if (found.kind === 'damage' && !found.isErased) damages += 1
          const request = found.kind === 'record' ? restore(found.value) : undefined
          if (request === undefined) obsolete.add(file)
          else entries.set(request.id, { request, file, isRemoved: false })
        } catch (error) {
          // The file stays for the next process.
          failed(error)
        }
    } catch (error) {
      failed(error)
    }
    if (damages > 0) report(new MessagingWebhooksError('quarantine_damaged', `Files: ${damages}.`))
  }

  async function flush(): Promise<void> {
    cancelPause?.()
    await opened
    await running
    await work()
    if (own === undefined) return
    await own.leave()
    // Only an empty folder.
    await fs.rmdir(own.folder).catch(() => {})
  }

  const changes: KeeperChanges = {
    kept(request) {
      const entry = entries.get(request.id) ?? { request, file: undefined, isRemoved: false }
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
      if (entry.file !== undefined) obsolete.add(entry.file)
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
      opened ??= load(restore)
      void opened.then(wake)
      return opened
    },
    /** Erases everything removed so far, unless the disk fails, which is reported. */
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
      [...entries.values()].filter(({ file }) => file === undefined).map(({ request }) => request),
  }
}
