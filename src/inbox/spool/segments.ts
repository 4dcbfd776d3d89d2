/** The segments of one process in their order: where records are written, and what becomes of a disk that fails. */
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
  /** What is there already, in its order. */
  readonly segments: readonly Segment[]
  /** The greatest number that a file has. */
  readonly lastNumber: number
  readonly salt: number
  /** A file that is as long is not appended to. */
  readonly segmentBytes: number
  readonly report: (error: MessagingWebhooksError) => void
}) {
  const { fs, folder, reserve, salt, segmentBytes, report } = options
  const segments = [...options.segments]
  let { lastNumber } = options
  let writer: { readonly file: LogFile; readonly segment: Segment } | undefined
  /** The file that has zeros of the reserve behind its records. */
  let overZeros: LogFile | undefined

  function begin(file: LogFile) {
    const segment = newSegment(file, false)
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
    // What it holds has reached the disk; there is nothing that a failing close could lose.
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
      if (!(await reserve.handOver(path))) return false
      overZeros = await openLogFile(fs, path, { salt, end: 0 }, EVENT_LOG)
      await endWriter()
      begin(overZeros)
    } catch {
      // That the disk is full is what counts; what failed here may work the next time.
      await reserve.takeBack(path)
      return false
    }
    report(new MessagingWebhooksError('disk_full', 'The reserve is in use now.'))
    return true
  }

  async function remove(segment: Segment): Promise<void> {
    const index = segments.indexOf(segment)
    if (index >= 0) segments.splice(index, 1)
    // What a disk did not give now it may give the next process, which knows what has been taken already.
    if (segment.unreadable) return
    try {
      await fs.rm(segment.file.path, { force: true })
      await syncFolder(fs, dirname(segment.file.path))
    } catch (error) {
      report(new MessagingWebhooksError('spool_unusable', 'A file was not removed.', { cause: error }))
    }
  }

  return {
    /** The oldest segment. */
    get first(): Segment | undefined {
      return segments[0]
    },
    /** All of them, in their order. */
    get all(): readonly Segment[] {
      return [...segments]
    },
    /** Records that are held. */
    get held(): number {
      return segments.reduce((sum, segment) => sum + segment.held, 0)
    },
    /** Bytes that their files take, but for the reserve. */
    get bytes(): number {
      return segments.reduce((sum, segment) => sum + segment.file.end, 0)
    },
    /** Rejects with a `MessagingWebhooksError` where no file takes them, and leaves none of them then. */
    async write(bytes: Buffer, records: number): Promise<void> {
      for (let failures = 0; ;) {
        let hadRoom = false
        try {
          const { file, segment } = await currentWriter()
          hadRoom = file === overZeros
          await file.append(bytes)
          segment.held += records
          return
        } catch (error) {
          overZeros = undefined
          if (isFull(error)) {
            // A file system that copies on write needs new blocks where zeros stood; cutting back has freed those.
            if (hadRoom || (await useReserve())) continue
            throw new MessagingWebhooksError('spool_full', 'The disk is full.', { cause: error })
          }
          failures += 1
          // Once more, in a new file; twice is no accident.
          if (failures === 1) continue
          const code = systemCode(error)
          // EFBIG: too much for any file that this process may write.
          const reason = code === 'EFBIG' ? 'spool_full' : 'spool_unusable'
          throw new MessagingWebhooksError(reason, code && `The system says ${code}.`, { cause: error })
        }
      }
    },
    /** Removes the file of a segment whose records were all handed over; says no where it has got more meanwhile. */
    async retire(segment: Segment): Promise<boolean> {
      if (segment.read < segment.file.end) return false
      if (writer?.segment === segment) await endWriter()
      await remove(segment)
      return true
    },
    close: endWriter,
  }
}
