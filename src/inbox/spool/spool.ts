/**
 * What the store could not take: a log of this process on the local disk, in files that are only appended to.
 *
 * The spool's folder has a folder a process, in it numbered segments of events, and a reserve of room. A segment is
 * removed when all its events were handed over. After a crash the events of the segment that was being emptied are handed
 * over again: they have identities, so the store knows them.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { isFull, systemCode, type FileSystem } from '../../disk-log/file-system.ts'
import type { LogFileName } from '../../disk-log/log-file.ts'
import { nodeFs } from '../../disk-log/node-file-system.ts'
import { adoptDead, makeProcessFolder, type ProcessFolder } from '../../disk-log/process-folder.ts'
import { encodeRecord } from '../../disk-log/record.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { inTurn } from '../../runtime/in-turn.ts'
import type { NewEvent } from '../store.ts'
import { createGroupCommit } from './group-commit.ts'
import { createReserve, shaveReserve, takeReserve } from './reserve.ts'
import { emptySegment, EVENT_LOG, findSegment, forgetInSegment, type IsMeant, type Segment } from './segment.ts'
import { createSegments } from './segments.ts'

const MIB = 1024 * 1024

/** Many an event is smaller; with less room than this below its bound a spool does as if it were full. */
const ROOM_BYTES = MIB

export interface Spool {
  /**
   * Appends the events, all or none, and resolves when they are on the disk. What comes while a write is under way goes
   * into the next one together. Rejects with a `MessagingWebhooksError` where no file can take them.
   */
  append(events: readonly NewEvent[]): Promise<void>
  /**
   * Hands over what is held, in the order of the appends, in batches, and what is appended meanwhile, until nothing is
   * held. A batch is forgotten when `take` has resolved; where it rejects, so does this, and the batch stays. One at a
   * time; a spool that is closed meanwhile ends it with `receiver_closed`, without waiting for `take`.
   */
  empty(take: (events: readonly NewEvent[]) => Promise<void>): Promise<void>
  /** Writes over the records of these events, and says how many of them were still held; counts only, where it is a `dryRun`. */
  forget(isMeant: IsMeant, dryRun: boolean): Promise<number>
  /** Records that are held, those included that are being written. While there are any, new events go through here. */
  readonly size: number
  /**
   * Whether it would take another event: there is room below its bound, and where the last append failed, the disk takes a
   * few blocks again. Waits for the writes under way.
   */
  canTake(): Promise<boolean>
  /** What the files take, but for the reserve. */
  readonly bytes: number
  /** Leaves what is held, and the reserve, to the next process that opens the folder. */
  close(): Promise<void>
}

export interface SpoolOptions {
  /** On a local disk; several processes of one machine may name the same. */
  readonly folder: string
  /** Appends that would lead past it are rejected. Default 1 GiB. */
  readonly maxBytes?: number
  /** Kept free for a full disk, for each process. Default 8 MiB. */
  readonly reserveBytes?: number
  /** A file that is as long is followed by another. Default 16 MiB. */
  readonly segmentBytes?: number
  /** What was skipped, and a disk that is full. */
  readonly report: (error: MessagingWebhooksError) => void
  /** For tests. */
  readonly fs?: FileSystem
}

/**
 * Proves the folder writable, adopts what dead processes left in it, and counts it. Rejects with `spool_unusable` where
 * that does not work.
 */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { folder, fs = nodeFs } = options
  try {
    const own = await makeFolderAnyway(fs, folder)
    try {
      return await openIn(own, { ...options, fs })
    } catch (error) {
      await own.leave()
      throw error
    }
  } catch (error) {
    const code = systemCode(error)
    throw new MessagingWebhooksError('spool_unusable', code && `The system says ${code}.`, { cause: error })
  }
}

/** A restart on a disk without a free block must not fail while a reserve lies there. */
async function makeFolderAnyway(fs: FileSystem, folder: string): Promise<ProcessFolder> {
  try {
    return await makeProcessFolder(fs, folder)
  } catch (error) {
    if (!isFull(error) || !(await shaveReserve(fs, folder))) throw error
    return makeProcessFolder(fs, folder)
  }
}

async function openIn(own: ProcessFolder, options: SpoolOptions & { readonly fs: FileSystem }): Promise<Spool> {
  const { fs, maxBytes = 1024 * MIB, reserveBytes = 8 * MIB, segmentBytes = 16 * MIB, report } = options
  const { folder } = own
  const names = await adoptDead({
    fs,
    parent: options.folder,
    own,
    extension: EVENT_LOG.extension,
    failed(error) {
      report(
        new MessagingWebhooksError('spool_unusable', 'What another process left was not adopted.', { cause: error }),
      )
    },
    takeRest: (from) => takeReserve(fs, from, folder),
  })
  const found = await findSegments({ fs, folder, names, report })
  const reserve = createReserve({ fs, folder, bytes: reserveBytes, report })
  await reserve.restore()
  const salt = randomBytes(4).readUInt32LE()
  const lastNumber = names.length
  const segments = createSegments({ fs, folder, reserve, segments: found, lastNumber, salt, segmentBytes, report })
  // Writes, and what else changes files, one at a time.
  const turns = inTurn()
  const commits = createGroupCommit(segments.write, turns)
  /** Between the reading of a batch and its end nothing of it is forgotten. */
  const batches = inTurn()
  const appending = new Set<Promise<void>>()
  let isEmptying = false
  /** The last append was not kept, and nobody knows whether the next would be. */
  let hasFailed = false
  let closing: Promise<void> | undefined

  function checkOpen(): void {
    if (closing !== undefined) throw new MessagingWebhooksError('receiver_closed')
  }

  async function restoreReserve(): Promise<void> {
    try {
      await reserve.restore()
    } catch (error) {
      report(new MessagingWebhooksError('spool_unusable', 'No reserve could be set aside.', { cause: error }))
    }
  }

  async function emptyAll(take: (events: readonly NewEvent[]) => Promise<void>): Promise<void> {
    for (let restored = false; ;) {
      checkOpen()
      const segment = segments.first
      if (segment !== undefined) {
        if (segment.read < segment.file.end)
          await emptySegment(segment, { fs, take, report, checkOpen, inTurn: batches })
        // Another process may have the file by now.
        checkOpen()
        await turns(() => segments.retire(segment))
      } else if (commits.records > 0) {
        // The next turn comes when the write has ended that is under way.
        await turns(() => Promise.resolve())
      } else if (restored) return
      else {
        restored = true
        await turns(restoreReserve)
      }
    }
  }

  async function closeAll(): Promise<void> {
    await commits.idle()
    await turns(() => segments.close())
    await own.leave()
  }

  return {
    async append(events) {
      checkOpen()
      if (events.length === 0) return
      const bytes = Buffer.concat(events.map((event) => encodeRecord(EVENT_LOG, event, salt)))
      if (segments.bytes + commits.bytes + bytes.length > maxBytes)
        throw new MessagingWebhooksError('spool_full', `It may take ${maxBytes} bytes.`)
      const appended = commits.append(bytes, events.length)
      appending.add(appended)
      try {
        await appended
        hasFailed = false
      } catch (error) {
        hasFailed = true
        throw error
      } finally {
        appending.delete(appended)
      }
    },
    async canTake() {
      if (closing !== undefined || segments.bytes + commits.bytes + Math.min(ROOM_BYTES, maxBytes / 2) > maxBytes)
        return false
      return !hasFailed || turns(() => reserve.canWrite())
    },
    async forget(isMeant, dryRun) {
      checkOpen()
      await Promise.allSettled(appending)
      return batches(async () => {
        let count = 0
        for (const segment of segments.all) count += await forgetInSegment(segment, { fs, isMeant, dryRun })
        return count
      })
    },
    async empty(take) {
      if (isEmptying) throw new Error('The spool is being emptied already.')
      isEmptying = true
      try {
        await emptyAll(take)
      } finally {
        isEmptying = false
      }
    },
    get size() {
      return segments.held + commits.records
    },
    get bytes() {
      return segments.bytes
    },
    close() {
      closing ??= closeAll()
      return closing
    },
  }
}

async function findSegments(left: {
  readonly fs: FileSystem
  readonly folder: string
  readonly names: readonly LogFileName[]
  readonly report: (error: MessagingWebhooksError) => void
}): Promise<readonly Segment[]> {
  const { fs, folder, names, report } = left
  const segments: Segment[] = []
  for (const name of names)
    try {
      const segment = await findSegment(fs, folder, name)
      if (segment.held === 0 && segment.unreadable) throw new Error('The disk gives nothing of it.')
      // What has no record is gone through at once, for damage and then away: nobody empties a spool of size 0.
      if (segment.held === 0) await discard(segment)
      else segments.push(segment)
    } catch (error) {
      report(new MessagingWebhooksError('spool_unusable', 'A file could not be read; it stays.', { cause: error }))
    }
  return segments

  async function discard(segment: Segment): Promise<void> {
    await emptySegment(segment, { fs, take: () => Promise.resolve(), report, checkOpen: () => {}, inTurn: inTurn() })
    if (!segment.unreadable) await fs.rm(segment.file.path, { force: true })
  }
}

/** The two logs of a receiver: what came while the store was away, and what the store refused although it was there. */
export interface Spools {
  /** Emptied as soon as the store is back. */
  readonly outage: Spool
  /** Tried again at each start, so that it stops nobody meanwhile. */
  readonly aside: Spool
}

/** What is set aside is rare and small, and needs no room of its own on a full disk. */
const ASIDE_RESERVE_BYTES = 0

export async function openSpools(
  folder: string,
  report: (error: MessagingWebhooksError) => void,
  options: Omit<SpoolOptions, 'folder' | 'report'> = {},
): Promise<Spools> {
  const outage = await openSpool({ ...options, folder, report })
  try {
    const aside = await openSpool({
      ...options,
      folder: join(folder, 'refused'),
      report,
      reserveBytes: ASIDE_RESERVE_BYTES,
    })
    return { outage, aside }
  } catch (error) {
    await outage.close()
    throw error
  }
}
