/** Hands over the records of one segment. */
import { MessagingWebhooksError } from '../../errors.ts'
import type { NewEvent } from '../store.ts'
import { systemCode, type OpenedFile, type FileSystem } from '../../process-folder/files.ts'
import { readBatch } from './scan.ts'
import type { Segment } from './segment.ts'
import { windowOver } from './window.ts'

interface EmptyOptions {
  readonly fs: FileSystem
  readonly take: (events: readonly NewEvent[]) => Promise<void>
  readonly report: (error: MessagingWebhooksError) => void
  /** Throws where the emptying is to stop. */
  readonly checkOpen: () => void
}

/** Hands over, batch by batch, what the segment holds now. Where `take` rejects, its batch and what follows stays. */
export async function emptySegment(segment: Segment, options: EmptyOptions): Promise<void> {
  const { fs, report } = options
  let file: OpenedFile
  try {
    file = await fs.open(segment.path, 'r')
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    // Waiting would not bring it back, and the segments behind it are still wanted.
    report(new MessagingWebhooksError('spool_damaged', 'A whole file is gone.', { cause: error }))
    segment.read = segment.end
    segment.held = 0
    return
  }
  try {
    await emptyFile(file, segment, options)
  } finally {
    await file.close()
  }
}

async function emptyFile(file: OpenedFile, segment: Segment, { take, report, checkOpen }: EmptyOptions): Promise<void> {
  const { end, salt } = segment
  const window = windowOver(file, end, () => (segment.unreadable = true))
  segment.unreadable = segment.unreadable && segment.read > 0
  while (segment.read < end) {
    const { events, next, damages, tornAt } = await readBatch(window, { from: segment.read, end, salt })
    const lost = tornAt === undefined || segment.mayBeTorn ? damages : [...damages, tornAt]
    // A batch that is read again is not reported again.
    const places = lost.filter((position) => position >= segment.checked).length
    if (places > 0) report(new MessagingWebhooksError('spool_damaged', said(places, segment)))
    segment.checked = next
    checkOpen()
    if (events.length > 0) await take(events)
    segment.read = next
    // Nothing is left of what was counted and could not be read.
    segment.held = next === segment.end ? 0 : Math.max(0, segment.held - events.length)
  }
}

function said(places: number, { unreadable }: Segment): string {
  const skipped = `${places} place(s) of a file were skipped.`
  return unreadable
    ? `${skipped} The disk did not give them, so the file stays, and is read again at the next start.`
    : skipped
}
