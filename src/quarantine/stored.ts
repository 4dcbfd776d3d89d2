/** Reads the quarantine folder of all processes, running or not, and changes nothing. */
import { join } from 'node:path'
import { systemCode, type FileSystem } from '../disk-log/file-system.ts'
import { findLogFile, parseLogFileName } from '../disk-log/log-file.ts'
import { processFoldersIn } from '../disk-log/process-folder.ts'
import { idOf } from './keeper.ts'
import { readRequest, REQUEST_LOG } from './request-file.ts'
import type { KeptRequest } from './request.ts'

export interface StoredRequests {
  /** In order of arrival. `isHeld`: a running process has it, and may admit it. */
  readonly items: readonly { readonly request: KeptRequest; readonly isHeld: boolean }[]
  /** Number of files that cannot be read. */
  readonly unreadable: number
}

/** A folder that does not exist is empty. */
export async function readStored(fs: FileSystem, folder: string): Promise<StoredRequests> {
  const items: { readonly request: KeptRequest; readonly isHeld: boolean }[] = []
  let unreadable = 0

  async function readFiles(inside: string, isHeld: boolean): Promise<void> {
    for (const entry of await fs.readdir(inside)) {
      const name = parseLogFileName(entry, REQUEST_LOG.extension)
      if (name === undefined) continue
      try {
        const found = await readRequest(fs, await findLogFile(fs, inside, name, REQUEST_LOG))
        if (found.kind === 'record') items.push({ request: { ...found.value, id: idOf(found.value.callback) }, isHeld })
        else if (found.kind === 'damage' && !found.isErased) unreadable += 1
      } catch (error) {
        // Its process has removed it meanwhile.
        if (systemCode(error) !== 'ENOENT') unreadable += 1
      }
    }
    // A process that ends while it adopts the folders of others leaves them inside its own.
    for (const name of await processFoldersIn(fs, inside)) await readFiles(join(inside, name), isHeld)
  }

  try {
    for (const name of await processFoldersIn(fs, folder))
      await readFiles(join(folder, name), await fs.isHeld(join(folder, name)))
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
  return { items: items.sort((a, b) => a.request.sequence - b.request.sequence), unreadable }
}
