/** Takes over the files that processes left which are no longer alive. */
import { readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { systemCode } from '../../../process-folder/files.ts'
import { homesIn, takeIfDead, type Home } from '../../../process-folder/home.ts'
import { isHeld, LOCK_FILE } from '../../../process-folder/lock.ts'
import { fileName, parseFileName, type RequestsFileName } from './requests-file.ts'

interface Left {
  readonly folder: string
  /** In their order. */
  readonly files: readonly RequestsFileName[]
}

/** The folders in `parent` of processes that are dead; none where `parent` does not exist. */
export async function findDead(parent: string): Promise<readonly string[]> {
  const dead: string[] = []
  for (const name of await homesIfAny(parent)) if (!(await isHeld(join(parent, name)))) dead.push(name)
  return dead
}

/** Moves the files of the dead into `home`, numbered in their order; returns them. */
export async function adoptLeft(
  { parent, dead, home }: { readonly parent: string; readonly dead: readonly string[]; readonly home: Home },
  failed: (error: unknown) => void,
): Promise<readonly RequestsFileName[]> {
  for (const name of dead) {
    try {
      await takeIfDead(join(parent, name), join(home.folder, name))
    } catch (error) {
      // Not ours to move, perhaps; the others are.
      failed(error)
    }
  }
  const left = await findLeft(home.folder)
  const adopted: RequestsFileName[] = []
  for (const { folder, files } of left)
    for (const file of files) {
      const name = { number: adopted.length + 1, salt: file.salt }
      await rename(join(folder, fileName(file)), join(home.folder, fileName(name)))
      adopted.push(name)
    }
  for (const { folder } of left) {
    await rm(join(folder, LOCK_FILE), { force: true })
    // With something in it that is not known by its name it goes back to where it was: it must not lie deeper each time.
    await rmdir(folder).catch(() => rename(folder, join(parent, basename(folder))).catch(() => {}))
  }
  return adopted
}

/** The folders inside `folder`, and those inside them: of a process that ended while it adopted. Outer ones come last. */
async function findLeft(folder: string): Promise<readonly Left[]> {
  const found: Left[] = []
  for (const name of await homesIn(folder)) {
    const inside = join(folder, name)
    found.push(...(await findLeft(inside)))
    const files = (await readdir(inside)).flatMap((entry) => parseFileName(entry) ?? [])
    found.push({ folder: inside, files: files.toSorted((a, b) => a.number - b.number) })
  }
  return found
}

async function homesIfAny(folder: string): Promise<readonly string[]> {
  try {
    return await homesIn(folder)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}
