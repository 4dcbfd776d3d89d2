/** Takes over the files that processes left which are no longer alive. */
import { basename, join } from 'node:path'
import { systemCode, type FileSystem } from '../../../process-folder/files.ts'
import { homesIn, takeIfDead, type Home } from '../../../process-folder/home.ts'
import { LOCK_FILE } from '../../../process-folder/lock.ts'
import { fileName, parseFileName, type RequestsFileName } from './requests-file.ts'

interface Left {
  readonly folder: string
  /** In their order. */
  readonly files: readonly RequestsFileName[]
}

/** The folders in `parent` of processes that are dead; none where `parent` does not exist. */
export async function findDead(fs: FileSystem, parent: string): Promise<readonly string[]> {
  const dead: string[] = []
  for (const name of await homesIfAny(fs, parent)) if (!(await fs.isHeld(join(parent, name)))) dead.push(name)
  return dead
}

/** Moves the files of the dead into `home`, numbered in their order; returns them. */
export async function adoptLeft(
  {
    fs,
    parent,
    dead,
    home,
  }: { readonly fs: FileSystem; readonly parent: string; readonly dead: readonly string[]; readonly home: Home },
  failed: (error: unknown) => void,
): Promise<readonly RequestsFileName[]> {
  for (const name of dead) {
    try {
      await takeIfDead(fs, join(parent, name), join(home.folder, name))
    } catch (error) {
      // Not ours to move, perhaps; the others are.
      failed(error)
    }
  }
  const left = await findLeft(fs, home.folder)
  const adopted: RequestsFileName[] = []
  for (const { folder, files } of left)
    for (const file of files) {
      const name = { number: adopted.length + 1, salt: file.salt }
      await fs.rename(join(folder, fileName(file)), join(home.folder, fileName(name)))
      adopted.push(name)
    }
  for (const { folder } of left) {
    await fs.rm(join(folder, LOCK_FILE), { force: true })
    // With something in it that is not known by its name it goes back to where it was: it must not lie deeper each time.
    await fs.rmdir(folder).catch(() => fs.rename(folder, join(parent, basename(folder))).catch(() => {}))
  }
  return adopted
}

/** The folders inside `folder`, and those inside them: of a process that ended while it adopted. Outer ones come last. */
async function findLeft(fs: FileSystem, folder: string): Promise<readonly Left[]> {
  const found: Left[] = []
  for (const name of await homesIn(fs, folder)) {
    const inside = join(folder, name)
    found.push(...(await findLeft(fs, inside)))
    const files = (await fs.readdir(inside)).flatMap((entry) => parseFileName(entry) ?? [])
    found.push({ folder: inside, files: files.toSorted((a, b) => a.number - b.number) })
  }
  return found
}

async function homesIfAny(fs: FileSystem, folder: string): Promise<readonly string[]> {
  try {
    return await homesIn(fs, folder)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}
