/** The folder of the local file, which only its owner may read. */
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const FOLDER_MODE = 0o700

/** Creates a folder and its parents durably. */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: FOLDER_MODE })
  // Windows cannot open a folder as a file. NTFS journals its entries.
  if (first === undefined || process.platform === 'win32') return
  const top = dirname(resolve(first))
  for (let folder = path; folder !== top;) {
    folder = dirname(folder)
    const opened = openSync(folder, 'r')
    try {
      fsyncSync(opened)
    } finally {
      closeSync(opened)
    }
  }
}
