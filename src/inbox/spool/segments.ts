/** The segments of one process in order: writes records, and handles a failing disk. */
import { dirname, join } from 'node:path'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { isFull, syncFolder, systemCode, type FileSystem } from '../../disk-log/file-system.ts'
import { createLogFile, logFileName, openLogFile, type LogFile } from '../../disk-log/log-file.ts'
import type { Reserve } from './reserve.ts'
import { EVENT_LOG, newSegment, type Segment } from './segment.ts'

export function createSegments(options: {
  readonly fs: FileSystem
  readonly folder: string
  readonly reserve: Reserve
  /** The segments found at the start, in order. */
  readonly segments: readonly Segment[]
  /** The highest file number in use. */
  readonly lastNumber: number
  readonly salt: number
  /** A file of this size gets no more records. */
  readonly segmentBytes: number
  readonly report: (error: MessagingWebhooksError) => void
}) {
  const { fs, folder, reserve, salt, segmentBytes, report } = options
  const segments = [...options.segments]
  let { lastNumber } = options
  let writer: { readonly file: LogFile; readonly segment: Segment } | undefined
  /** The file that overwrites the zeros of the reserve. */
  let overZeros: LogFile | undefined

  function begin(file: LogFile) {
    const segment = newSegment(file)
    segments.push(segment)
    writer = { file, segment }
    return writer
  }

  function nextName() {
    return { number: (lastNumber += 1), salt }
  }

  async function endWriter(): Promise<void> {
    const ended = writer
    writer = undefined
    // Its records are on the disk, so a failed close loses nothing.
    await ended?.file.close().catch(() => {})
    if (ended?.file.end === 0) await remove(ended.segment)
  }

  async function currentWriter() {
    if (writer !== undefined && (!writer.file.usable || writer.file.end >= segmentBytes)) await endWriter()
    return writer ?? begin(await createLogFile(fs, folder, nextName(), EVENT_LOG))
  }

  async function useReserve(): Promise<boolean> {
    const name = nextName()
    const path = join(folder, logFileName(name, EVENT_LOG.extension))
    try {
      if (!(await reserve.transferTo(path))) return false
      overZeros = await openLogFile(fs, { path, salt, end: 0 }, EVENT_LOG)
      await endWriter()
      begin(overZeros)
    } catch {
      // Report the full disk. The reserve may work the next time.
      await reserve.takeBack(path)
      return false
    }
    report(new MessagingWebhooksError('disk_full', 'The reserve is now in use.'))
    return true
  }

  async function remove(segment: Segment): Promise<void> {
    const index = segments.indexOf(segment)
    if (index >= 0) segments.splice(index, 1)
    // The next process may be able to read the rest; the store recognises the events it has already.
    if (segment.unreadable) return
    try {
      await fs.rm(segment.file.path, { force: true })
      await syncFolder(fs, dirname(segment.file.path))
    } catch (error) {
      report(new MessagingWebhooksError('spool_unusable', 'A file could not be removed.', { cause: error }))
    }
  }

  return {
    /** The oldest segment. */
    get first(): Segment | undefined {
      return segments[0]
    },
    get all(): readonly Segment[] {
      return [...segments]
    },
    /** Number of records not in the store yet. */
    get held(): number {
      return segments.reduce((sum, segment) => sum + segment.held, 0)
    },
    /** Size of the files, without the reserve. */
    get bytes(): number {
      return segments.reduce((sum, segment) => sum + segment.file.end, 0)
    },
    /** Rejects with a `MessagingWebhooksError` if no file accepts the records; then none of them is kept. */
    async write(bytes: Buffer, records: number): Promise<void> {
      for (let failures = 0; ;) {
        let isOverZeros = false
        try {
          const { file, segment } = await currentWriter()
          isOverZeros = file === overZeros
          await file.append(bytes)
          segment.held += records
          return
        } catch (error) {
          overZeros = undefined
          if (isFull(error)) {
            // A copy-on-write file system needs new blocks in place of the zeros. Truncating has freed those.
            if (isOverZeros || (await useReserve())) continue
            throw new MessagingWebhooksError('spool_full', 'The disk is full.', { cause: error })
          }
          failures += 1
          // Retry once, in a new file.
          if (failures === 1) continue
          const code = systemCode(error)
          // EFBIG: this process may not write a file that large.
          const reason = code === 'EFBIG' ? 'spool_full' : 'spool_unusable'
          throw new MessagingWebhooksError(reason, code && `System error: ${code}.`, { cause: error })
        }
      }
    },
    /** Removes the file of a segment with all events in the store. False if more were appended meanwhile. */
    async retire(segment: Segment): Promise<boolean> {
      if (segment.read < segment.file.end) return false
      if (writer?.segment === segment) await endWriter()
      await remove(segment)
      return true
    },
    close: endWriter,
  }
}
