/**
 * Events that the store could not accept: an append-only log of this process on the local disk.
 *
 * The spool's folder has a folder per process, which contains numbered segments of events and a reserve. A segment is removed
 * when all its events are in the store. After a crash, the events of the segment in progress are sent to the store again, which
 * recognises their identities.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { isFull, systemCode, nodeFs, type FileSystem } from '../../disk-log/file-system.ts'
import type { LogFileName } from '../../disk-log/log-file.ts'
import { adoptDead, makeProcessFolder, type ProcessFolder } from '../../disk-log/process-folder.ts'
import { encodeRecord } from '../../disk-log/record.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { inTurn } from '../../runtime/concurrency.ts'
import type { NewEvent } from '../../messages/event-record.ts'
import { createGroupCommit } from './group-commit.ts'
import { createReserve, shaveReserve, takeReserve } from './reserve.ts'
import { emptySegment, EVENT_LOG, findSegment, forgetInSegment, type IsMeant, type Segment } from './segment.ts'
import { createSegments } from './segments.ts'

const MIB = 1024 * 1024

/** Larger than most events. A spool with less than this left below its limit counts as full. */
const ROOM_BYTES = MIB

export type Spool = Awaited<ReturnType<typeof openIn>>

export interface SpoolOptions {
  /** On a local disk. Several processes of one machine may share it. */
  readonly folder: string
  /** Maximum size. Appends beyond it are rejected. Default 1 GiB. */
  readonly maxBytes?: number
  /** Disk space reserved per process for a full disk. Default 8 MiB. */
  readonly reserveBytes?: number
  /** Size at which the next file begins. Default 16 MiB. */
  readonly segmentBytes?: number
  /** Receives skipped records and a full disk. */
  readonly report: (error: MessagingWebhooksError) => void
  /** For tests. */
  readonly fs?: FileSystem
}

/**
 * Checks that the folder is writable, adopts the segments of dead processes, and counts them. Rejects with `spool_unusable` on
 * failure.
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
    throw new MessagingWebhooksError('spool_unusable', code && `System error: ${code}.`, { cause: error })
  }
}

/** A restart on a full disk must not fail while there is a reserve. */
async function makeFolderAnyway(fs: FileSystem, folder: string): Promise<ProcessFolder> {
  try {
    return await makeProcessFolder(fs, folder)
  } catch (error) {
    if (!isFull(error) || !(await shaveReserve(fs, folder))) throw error
    return makeProcessFolder(fs, folder)
  }
}

async function openIn(own: ProcessFolder, options: SpoolOptions & { readonly fs: FileSystem }) {
  const { fs, maxBytes = 1024 * MIB, reserveBytes = 8 * MIB, segmentBytes = 16 * MIB, report } = options
  const { folder } = own
  const names = await adoptDead({
    fs,
    parent: options.folder,
    own,
    extension: EVENT_LOG.extension,
    failed(error) {
      report(
        new MessagingWebhooksError('spool_unusable', 'The files of another process could not be adopted.', {
          cause: error,
        }),
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
  // Serialises writes and other changes of files.
  const turns = inTurn()
  const commits = createGroupCommit(segments.write, turns)
  /** Prevents an erasure while a batch is between the spool and the store. */
  const batches = inTurn()
  const appending = new Set<Promise<void>>()
  let isEmptying = false
  /** The last append failed, and the next may fail as well. */
  let hasFailed = false
  let closing: Promise<void> | undefined

  function checkOpen(): void {
    if (closing !== undefined) throw new MessagingWebhooksError('receiver_closed')
  }

  async function restoreReserve(): Promise<void> {
    try {
      await reserve.restore()
    } catch (error) {
      report(new MessagingWebhooksError('spool_unusable', 'The reserve could not be written.', { cause: error }))
    }
  }

  async function emptyAll(take: (events: readonly NewEvent[]) => Promise<void>): Promise<void> {
    for (let restored = false; ;) {
      checkOpen()
      const segment = segments.first
      if (segment !== undefined) {
        if (segment.read < segment.file.end)
          await emptySegment(segment, { fs, take, report, checkOpen, inTurn: batches })
        // Another process may own the file now.
        checkOpen()
        await turns(() => segments.retire(segment))
      } else if (commits.records > 0) {
        // Resolves after the current write.
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
    /**
     * Appends all events or none, and resolves when they are on the disk. Events that arrive during a write share the next one.
     * Rejects with a `MessagingWebhooksError` if no file accepts them.
     */
    async append(events: readonly NewEvent[]): Promise<void> {
      checkOpen()
      if (events.length === 0) return
      const bytes = Buffer.concat(events.map((event) => encodeRecord(EVENT_LOG, event, salt)))
      if (segments.bytes + commits.bytes + bytes.length > maxBytes)
        throw new MessagingWebhooksError('spool_full', `Its limit is ${maxBytes} bytes.`)
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
    /**
     * Whether it would accept another event: there is space below its limit, and if the last append failed, the disk accepts a
     * few blocks again. Waits for pending writes.
     */
    async canTake(): Promise<boolean> {
      if (closing !== undefined || segments.bytes + commits.bytes + Math.min(ROOM_BYTES, maxBytes / 2) > maxBytes)
        return false
      return !hasFailed || turns(() => reserve.canWrite())
    },
    /** Overwrites matching records, or only counts them with `dryRun`. Returns how many were not in the store yet. */
    async forget(isMeant: IsMeant, dryRun: boolean): Promise<number> {
      checkOpen()
      await Promise.allSettled(appending)
      return batches(async () => {
        let count = 0
        for (const segment of segments.all) count += await forgetInSegment(segment, { fs, isMeant, dryRun })
        return count
      })
    },
    /**
     * Passes held events to `take` in batches, in the order of the appends, including events appended meanwhile, until the spool
     * is empty. A batch is removed when `take` resolves. If `take` rejects, so does this, and the batch stays. Runs once at a
     * time. Closing the spool ends it with `receiver_closed`, without waiting for `take`.
     */
    async empty(take: (events: readonly NewEvent[]) => Promise<void>): Promise<void> {
      if (isEmptying) throw new Error('The spool is already being emptied.')
      isEmptying = true
      try {
        await emptyAll(take)
      } finally {
        isEmptying = false
      }
    },
    /** Number of held records, including those being written. While it is above 0, new events pass through the spool. */
    get size(): number {
      return segments.held + commits.records
    },
    /** Size of the files, without the reserve. */
    get bytes(): number {
      return segments.bytes
    },
    /** Leaves held events and the reserve to the next process that opens the folder. */
    close(): Promise<void> {
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
      if (segment.held === 0 && segment.unreadable) throw new Error('The disk cannot read any of it.')
      // Read a segment without records now, to report corruption, and remove it: a spool of size 0 is not emptied.
      if (segment.held === 0) await discard(segment)
      else segments.push(segment)
    } catch (error) {
      report(new MessagingWebhooksError('spool_unusable', 'A file could not be read. It was kept.', { cause: error }))
    }
  return segments

  async function discard(segment: Segment): Promise<void> {
    await emptySegment(segment, { fs, take: () => Promise.resolve(), report, checkOpen: () => {}, inTurn: inTurn() })
    if (!segment.unreadable) await fs.rm(segment.file.path, { force: true })
  }
}

/** The two spools of a receiver: one for events that arrive during an outage, one for events that the store refuses. */
export interface Spools {
  /** Emptied as soon as the store is back. */
  readonly outage: Spool
  /** Retried only at each start, so that refused events block no others. */
  readonly aside: Spool
}

/** Refused events are rare and small, and need no reserve of their own. */
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
