/** The folder beside the database that shows others whether the process that holds leases is alive. */
import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { nodeFs } from '../../process-folder/node-fs.ts'
import { isHome, makeHome } from '../../process-folder/home.ts'
import { isKnownDead } from '../../process-folder/lock.ts'

interface SignOfLife {
  readonly name: string
  end(): Promise<void>
}

/**
 * Undefined where no lock can be held, as on an odd file system: then others wait for our leases to run out. It is for
 * the thread in which the handlers run: it must not end before they do.
 */
export async function showLife(folder: string): Promise<SignOfLife | undefined> {
  try {
    const home = await makeHome(nodeFs, folder)
    return {
      name: home.name,
      async end() {
        await home.leave()
        await rm(home.folder, { recursive: true, force: true })
      },
    }
  } catch {
    return undefined
  }
}

/**
 * Whether the store of this name is dead for certain. Where there is no folder or no lock in it, it may have been removed
 * by hand, or the file may be a copy: then nobody knows, and the leases run out.
 */
export function isDead(folder: string, name: string): Promise<boolean> {
  return isHome(name) ? isKnownDead(join(folder, name)) : Promise.resolve(false)
}

export async function removeSign(folder: string, name: string): Promise<void> {
  await rm(join(folder, name), { recursive: true, force: true })
}

/** Removes what processes left that were killed before they entered their name, or after it was taken out. */
export async function removeStraySigns(folder: string, known: readonly string[]): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names)
    if (isHome(basename(name, '.new')) && !known.includes(name) && (await isKnownDead(join(folder, name))))
      await removeSign(folder, name)
}
