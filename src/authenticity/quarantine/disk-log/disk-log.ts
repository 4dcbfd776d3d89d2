/**
 * What the quarantine keeps, beside it on the disk, so that it outlives the process. Memory is the truth: nothing waits
 * for the disk, and what cannot be written yet is written later, the most precious first. Nothing is fsynced, for this
 * is to survive a restart.
 *
 * A request is appended to a file once. When it is removed, zeros are written over it, for its body holds keys; a file
 * of which less than half counts moves to a new one. So the files never hold much more than twice what is kept, and
 * three times while they move.
 */
import { withDeadline, type Clock } from '../../../clock.ts'
import { MessagingWebhooksError } from '../../../errors.ts'
import { isFull, type FileSystem } from '../../../process-folder/files.ts'
import type { KeeperChanges } from '../changes.ts'
import type { KeptRequest } from '../request.ts'
import { createBudget } from './budget.ts'
import { encodeFrame, type Remembered } from './frame.ts'
import { logFolder } from './log-folder.ts'
import type { RequestsFile } from './requests-file.ts'
import { loadLeft } from './load.ts'
import { createPump } from './pump.ts'
import { createUnwritten } from './unwritten.ts'

interface DiskLogOptions {
  readonly fs: FileSystem
  readonly clock: Clock
  readonly folder: string
  readonly report: (error: MessagingWebhooksError) => void
}

interface DiskLog {
  readonly changes: KeeperChanges
  /** Loads what dead processes left; `restore` says what is kept of it. Never rejects; later calls wait for the first. */
  open(restore: (remembered: Remembered) => KeptRequest | undefined): Promise<void>
  /** Writes what is not written yet, and leaves it to the next process. */
  close(deadlineMs: number): Promise<void>
  /** What is in memory only. */
  unwritten(): readonly KeptRequest[]
}

/** Where the newest state of a request lies. */
interface Place {
  readonly request: KeptRequest
  readonly file: RequestsFile
  readonly offset: number
  readonly length: number
}

const BATCH_BYTES = 256 * 1024
/** A flood of requests must not wear the disk out, nor keep it from the store. */
const BYTES_A_SECOND = 8 * 1024 * 1024
/** A file this small is not worth moving. */
const SMALL_BYTES = 64 * 1024

export function createDiskLog({ fs, clock, folder, report }: DiskLogOptions): DiskLog {
  const ownFolder = logFolder(fs, folder, failed)
  const pump = createPump({ clock, ready: () => opened, step, failed })
  const budget = createBudget(clock, BYTES_A_SECOND)
  const files = new Set<RequestsFile>()
  const placed = new Map<string, Place>()
  const unwritten = createUnwritten()
  /** Of the batch that is being written, what still counts. */
  const underWay = new Map<string, KeptRequest>()
  /** Places of requests that are removed, or lie elsewhere now. */
  const gone: Place[] = []
  let current: RequestsFile | undefined
  let opened: Promise<void> | undefined
  let said = false
  let closing = false
  let isCleared = false

  function failed(cause: unknown): void {
    if (said) return
    said = true
    report(new MessagingWebhooksError('quarantine_unwritten', undefined, { cause }))
  }

  async function step(): Promise<boolean | number> {
    for (const file of files)
      if (file.live === 0 && (file !== current || file.end > 0)) {
        files.delete(file)
        if (file === current) current = undefined
        await file.remove()
      }
    for (let place = gone.pop(); place !== undefined; place = gone.pop()) if (files.has(place.file)) await erase(place)
    for (const file of files) if (!file.doomed && file.end > Math.max(2 * file.live, SMALL_BYTES)) doom(file)
    if (unwritten.size === 0) return gone.length > 0
    const waitMs = closing ? 0 : budget.waitMs()
    if (waitMs > 0) return waitMs
    await writeBatch()
    return true
  }

  async function erase({ file, offset, length }: Place): Promise<void> {
    try {
      await file.erase(offset, length)
    } catch (error) {
      doom(file)
      throw error
    }
  }

  function doom(file: RequestsFile): void {
    file.doomed = true
    if (file === current) current = undefined
    for (const place of placed.values())
      if (place.file === file && !unwritten.has(place.request.id)) unwritten.add(place.request)
  }

  async function writeBatch(): Promise<void> {
    if (current === undefined) {
      current = await ownFolder.create()
      files.add(current)
    }
    const file = current
    const batch = unwritten.take(BATCH_BYTES)
    for (const request of batch) underWay.set(request.id, request)
    const frames = batch.map((request) => encodeFrame(request, file.salt))
    const bytes = Buffer.concat(frames)
    let offset = file.end
    try {
      await file.append(bytes)
    } catch (error) {
      // A full disk says nothing against the file, and has no room for another.
      if (!isFull(error)) doom(file)
      for (const request of underWay.values()) if (!unwritten.has(request.id)) unwritten.add(request)
      underWay.clear()
      throw error
    }
    budget.spend(bytes.length)
    for (const [index, request] of batch.entries()) {
      const length = frames[index]?.length ?? 0
      settle({ request, file, offset, length })
      offset += length
    }
    underWay.clear()
    said = false
    pump.succeeded()
  }

  function settle(place: Place): void {
    const { id } = place.request
    // Removed while it was written.
    if (!underWay.has(id)) return void gone.push(place)
    const before = placed.get(id)
    placed.set(id, place)
    place.file.live += place.length
    if (before === undefined) return
    before.file.live -= before.length
    // Until all of a doomed file is elsewhere, the file counts as it is, however often processes die meanwhile.
    if (!before.file.doomed) gone.push(before)
  }

  async function load(restore: (remembered: Remembered) => KeptRequest | undefined): Promise<void> {
    const damages = await loadLeft({
      adopt: ownFolder.adopt,
      opened: (file) => files.add(file),
      found(file, { remembered, offset, length }) {
        const request = isCleared ? undefined : restore(remembered)
        if (request === undefined) return
        placed.set(request.id, { request, file, offset, length })
        file.live += length
        unwritten.add(request)
      },
      failed,
    })
    if (damages > 0) report(new MessagingWebhooksError('quarantine_damaged', `Places: ${damages}.`))
  }

  async function flush(): Promise<void> {
    await pump.finish()
    for (const file of files) await file.close().catch(() => {})
    await ownFolder.leave()
  }

  return {
    changes: {
      kept(request) {
        unwritten.add(request)
        pump.wake()
      },
      removed({ id }) {
        unwritten.remove(id)
        underWay.delete(id)
        const place = placed.get(id)
        if (place === undefined) return
        placed.delete(id)
        place.file.live -= place.length
        gone.push(place)
        pump.wake()
      },
      cleared() {
        isCleared = true
        unwritten.clear()
        underWay.clear()
        placed.clear()
        for (const file of files) file.live = 0
        pump.wake()
      },
    },
    open(restore) {
      opened ??= load(restore)
      void opened.then(pump.wake)
      return opened
    },
    async close(deadlineMs) {
      closing = true
      if (opened === undefined) return
      await withDeadline(clock, deadlineMs, flush().catch(failed), () => {})
    },
    unwritten: () => [...unwritten.all(), ...underWay.values()].filter(({ id }) => !placed.has(id)),
  }
}
