/**
 * What the store could not take: a log of this process on the local disk, in files that are only appended to.
 *
 * The spool's folder has a folder a process (home.ts), in it numbered segments (segment.ts) of framed records (frame.ts),
 * and a reserve of room (reserve.ts). A segment is removed when all its records were handed over. After a crash the
 * records of the segment that was being emptied are handed over again: events have identities, so the store knows them.
 */
import { randomBytes } from 'node:crypto'
import { MessagingWebhooksError } from '../../errors.ts'
import type { NewEvent } from '../store.ts'
import { adoptDead, shaveReserve } from './adopt.ts'
import { emptySegment } from './empty.ts'
import { isFull, systemCode, type FileSystem } from '../../process-folder/files.ts'
import { encodeFrame } from './frame.ts'
import { createGroupCommit } from './group-commit.ts'
import { makeHome, type Home } from '../../process-folder/home.ts'
import { nodeFs } from '../../process-folder/node-fs.ts'
import { inTurn } from '../../in-turn.ts'
import { createDiskLog } from './disk-log.ts'
import { createReserve } from './reserve.ts'
import { findSegment, type Segment, type SegmentName } from './segment.ts'

const MIB = 1024 * 1024

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
  /** Records that are held, those included that are being written. While there are any, new events go through here. */
  readonly size: number
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
    const home = await makeHomeAnyway(fs, folder)
    try {
      return await openAt(home, { ...options, fs })
    } catch (error) {
      await home.leave()
      throw error
    }
  } catch (error) {
    const code = systemCode(error)
    throw new MessagingWebhooksError('spool_unusable', code && `The system says ${code}.`, { cause: error })
  }
}

/** A restart on a disk without a free block must not fail while a reserve lies there. */
async function makeHomeAnyway(fs: FileSystem, folder: string): Promise<Home> {
  try {
    return await makeHome(fs, folder)
  } catch (error) {
    if (!isFull(error) || !(await shaveReserve(fs, folder))) throw error
    return makeHome(fs, folder)
  }
}

async function openAt(home: Home, options: SpoolOptions & { readonly fs: FileSystem }): Promise<Spool> {
  const { fs, maxBytes = 1024 * MIB, reserveBytes = 8 * MIB, segmentBytes = 16 * MIB, report } = options
  const { folder } = home
  const names = await adoptDead({ fs, parent: options.folder, home }, report)
  const segments = await findSegments({ fs, folder, names, report })
  const reserve = createReserve({ fs, folder, bytes: reserveBytes, report })
  await reserve.restore()
  const salt = randomBytes(4).readUInt32LE()
  const lastNumber = names.length
  const diskLog = createDiskLog({ fs, folder, reserve, segments, lastNumber, salt, segmentBytes, report })
  // Writes, and what else changes files, one at a time.
  const turns = inTurn()
  const commits = createGroupCommit(diskLog, turns)
  let isEmptying = false
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
      const segment = diskLog.first
      if (segment !== undefined) {
        if (segment.read < segment.end) await emptySegment(segment, { fs, take, report, checkOpen })
        // Another process may have the file by now.
        checkOpen()
        await turns(() => diskLog.retire(segment))
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
    await turns(() => diskLog.close())
    await home.leave()
  }

  return {
    async append(events) {
      checkOpen()
      if (events.length === 0) return
      const bytes = Buffer.concat(events.map((event) => encodeFrame(event, salt)))
      if (diskLog.bytes + commits.bytes + bytes.length > maxBytes)
        throw new MessagingWebhooksError('spool_full', `It may take ${maxBytes} bytes.`)
      await commits.append(bytes, events.length)
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
      return diskLog.held + commits.records
    },
    get bytes() {
      return diskLog.bytes
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
  readonly names: readonly SegmentName[]
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
    await emptySegment(segment, { fs, take: () => Promise.resolve(), report, checkOpen: () => {} })
    if (!segment.unreadable) await fs.rm(segment.path, { force: true })
  }
}
