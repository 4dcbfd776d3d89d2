/** Takes over what processes left behind that are no longer alive. */
import { basename, join } from 'node:path'
import { MessagingWebhooksError } from '../../errors.ts'
import { syncFolder, type FileSystem } from '../../process-folder/files.ts'
import { homesIn, takeIfDead, type Home } from '../../process-folder/home.ts'
import { LOCK_FILE } from '../../process-folder/lock.ts'
import { RESERVE_FILE, UNFINISHED_RESERVE_FILE } from './reserve.ts'
import { parseSegmentName, segmentName, type SegmentName } from './segment.ts'

/** Enough for a few folders and their entries. */
const SHAVED_BYTES = 64 * 1024

interface Left {
  readonly folder: string
  /** In their order. */
  readonly segments: readonly SegmentName[]
}

/** Moves the segments of dead processes into `home`, numbered in their order; returns them. */
export async function adoptDead(
  { fs, parent, home }: { readonly fs: FileSystem; readonly parent: string; readonly home: Home },
  report: (error: MessagingWebhooksError) => void,
): Promise<readonly SegmentName[]> {
  const names = (await homesIn(fs, parent)).filter((name) => name !== home.name)
  for (const name of names) {
    try {
      await takeIfDead(fs, join(parent, name), join(home.folder, name))
    } catch (error) {
      // Not ours to move, perhaps; it must not keep this process from its own work.
      report(
        new MessagingWebhooksError('spool_unusable', 'What another process left was not adopted.', { cause: error }),
      )
    }
  }
  const left = await findLeft(fs, home.folder)
  const adopted: SegmentName[] = []
  for (const { folder, segments } of left)
    for (const segment of segments) {
      const name = { number: adopted.length + 1, salt: segment.salt }
      await fs.rename(join(folder, segmentName(segment)), join(home.folder, segmentName(name)))
      adopted.push(name)
    }
  for (const { folder } of left) await takeReserve(fs, folder, home.folder)
  if (left.length > 0) await syncFolder(fs, home.folder)
  await putAway(fs, left, parent)
  return adopted
}

/**
 * Gives a little of a dead process's reserve back to a full disk, where not even a folder can be made any more. Says
 * whether there was one.
 */
export async function shaveReserve(fs: FileSystem, parent: string): Promise<boolean> {
  for (const name of await homesIn(fs, parent)) {
    const path = join(parent, name, RESERVE_FILE)
    const size = await sizeOf(fs, path)
    if (size <= SHAVED_BYTES || (await fs.isHeld(join(parent, name)))) continue
    await fs.truncate(path, size - SHAVED_BYTES)
    return true
  }
  return false
}

/**
 * The folders inside `folder`, those inside them too (of a process that ended while it adopted), the oldest first. A
 * process numbers its own segments after those that it adopted, so the order survives any number of crashes.
 */
async function findLeft(fs: FileSystem, folder: string): Promise<readonly Left[]> {
  const found: Left[] = []
  for (const name of await homesIn(fs, folder)) {
    const inside = join(folder, name)
    const segments = (await fs.readdir(inside)).flatMap((entry) => parseSegmentName(entry) ?? [])
    found.push({ folder: inside, segments: segments.toSorted((a, b) => a.number - b.number) })
    found.push(...(await findLeft(fs, inside)))
  }
  return found.toSorted((a, b) => firstNumber(a) - firstNumber(b))
}

function firstNumber({ segments }: Left): number {
  return segments[0]?.number ?? 0
}

/** On a full disk there may be no room for another. */
async function takeReserve(fs: FileSystem, from: string, to: string): Promise<void> {
  const [theirs, ours] = await Promise.all([sizeOf(fs, join(from, RESERVE_FILE)), sizeOf(fs, join(to, RESERVE_FILE))])
  if (theirs > ours) await fs.rename(join(from, RESERVE_FILE), join(to, RESERVE_FILE))
}

async function sizeOf(fs: FileSystem, path: string): Promise<number> {
  try {
    return (await fs.stat(path)).size
  } catch {
    return 0
  }
}

/**
 * Removes the folders, inner ones first. One with something in it that is not known by its name goes back to where it was
 * found: in ours it would lie deeper with each process, until its path is too long for the system.
 */
async function putAway(fs: FileSystem, left: readonly Left[], parent: string): Promise<void> {
  for (const { folder } of left.toSorted((a, b) => b.folder.length - a.folder.length)) {
    for (const name of [LOCK_FILE, RESERVE_FILE, UNFINISHED_RESERVE_FILE])
      await fs.rm(join(folder, name), { force: true })
    await fs.rmdir(folder).catch(() => fs.rename(folder, join(parent, basename(folder))).catch(() => {}))
  }
}
