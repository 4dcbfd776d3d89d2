/** One file of records: its name, what is known of it, and how it is appended to. */
import { join } from 'node:path'
import {
  FILE_MODE,
  isFull,
  syncFolder,
  writeAll,
  type OpenedFile,
  type FileSystem,
} from '../../process-folder/files.ts'
import { countRecords } from './scan.ts'
import { windowOver } from './window.ts'

/** A number for the order, the salt of the process that wrote it. */
const NAME = /^(\d{8,})-([0-9a-f]{8})\.segment$/

export interface SegmentName {
  readonly number: number
  readonly salt: number
}

export interface Segment {
  readonly path: string
  readonly salt: number
  /** Whether a process that ended may have left it in the middle of a record. */
  readonly mayBeTorn: boolean
  /** Where the records end that are on the disk. */
  end: number
  /** Up to where they were handed over. */
  read: number
  /** Up to where damage was reported. */
  checked: number
  /** Records between `read` and `end`. */
  held: number
  /** Whether the disk failed to give a part of it, as it may not the next time. */
  unreadable: boolean
}

export interface SegmentWriter {
  readonly segment: Segment
  /** Whether it can be appended to: the file has no more than its records, and never failed to reach the disk. */
  readonly usable: boolean
  /** Whether zeros that were set aside lie behind its records. */
  readonly hasRoom: boolean
  /** All or, where it rejects, none. */
  append(bytes: Buffer, records: number): Promise<void>
  close(): Promise<void>
}

export function segmentName({ number, salt }: SegmentName): string {
  return `${String(number).padStart(8, '0')}-${salt.toString(16).padStart(8, '0')}.segment`
}

export function parseSegmentName(name: string): SegmentName | undefined {
  const [, number, salt] = NAME.exec(name) ?? []
  if (number === undefined || salt === undefined) return undefined
  const parsed = { number: Number(number), salt: parseInt(salt, 16) }
  // Another spelling of the number, or one that is too large to be told from the next, would be looked for in vain.
  return segmentName(parsed) === name ? parsed : undefined
}

/** A segment that another process left. */
export async function findSegment(fs: FileSystem, folder: string, name: SegmentName): Promise<Segment> {
  const path = join(folder, segmentName(name))
  const { salt } = name
  const { size: end } = await fs.stat(path)
  const file = await fs.open(path, 'r')
  try {
    let unreadable = false
    const window = windowOver(file, end, () => (unreadable = true))
    const held = await countRecords(window, { from: 0, end, salt })
    return { path, salt, mayBeTorn: true, end, read: 0, checked: 0, held, unreadable }
  } finally {
    await file.close()
  }
}

/** Creates the file, and makes sure that it is found again. */
export async function createSegment(fs: FileSystem, folder: string, name: SegmentName): Promise<SegmentWriter> {
  const path = join(folder, segmentName(name))
  const file = await fs.open(path, 'wx', FILE_MODE)
  try {
    await syncFolder(fs, folder)
  } catch (error) {
    await file.close()
    await fs.rm(path, { force: true })
    throw error
  }
  return segmentWriter(file, newSegment(path, name.salt), false)
}

/** Writes over zeros that were set aside in that place. */
export async function overwriteSegment(fs: FileSystem, folder: string, name: SegmentName): Promise<SegmentWriter> {
  const path = join(folder, segmentName(name))
  return segmentWriter(await fs.open(path, 'r+'), newSegment(path, name.salt), true)
}

function newSegment(path: string, salt: number): Segment {
  return { path, salt, mayBeTorn: false, end: 0, read: 0, checked: 0, held: 0, unreadable: false }
}

function segmentWriter(file: OpenedFile, segment: Segment, overZeros: boolean): SegmentWriter {
  let usable = true
  let hasRoom = overZeros

  async function cutBack(): Promise<boolean> {
    hasRoom = false
    try {
      await file.truncate(segment.end)
      return true
    } catch {
      return false
    }
  }

  /** Rejects where the bytes are not known to be on the disk, under the name that they will be looked for. */
  async function reachDisk(): Promise<void> {
    await file.datasync()
    const { nlink } = await file.stat()
    if (nlink === 0) throw new Error('The file was removed while it was open.')
  }

  return {
    segment,
    get usable() {
      return usable
    },
    get hasRoom() {
      return hasRoom
    },
    async append(bytes, records) {
      try {
        await writeAll(file, bytes, segment.end)
      } catch (error) {
        // A full disk says nothing against the file; any other failure does.
        usable = (await cutBack()) && isFull(error)
        throw error
      }
      try {
        await reachDisk()
      } catch (error) {
        // The system may have dropped the pages and forget the failure, so that a second call would succeed.
        usable = false
        throw error
      }
      segment.end += bytes.length
      segment.held += records
    },
    close: () => file.close(),
  }
}
