/** The machine's own file system. */
import { mkdir, open, readdir, rename, rm, rmdir, stat, truncate } from 'node:fs/promises'
import type { FileSystem } from './files.ts'
import { holdLock, isHeld } from './lock.ts'

export const nodeFs: FileSystem = {
  open,
  readdir: (path) => readdir(path),
  async foldersIn(path) {
    const entries = await readdir(path, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  },
  mkdir,
  rename,
  rm,
  rmdir: (path) => rmdir(path),
  stat: (path) => stat(path),
  truncate,
  holdLock,
  isHeld,
}
