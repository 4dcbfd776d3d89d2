/** Where the files of this process lie: in a folder of its own, which is made when it is needed. */
import { randomBytes } from 'node:crypto'
import { systemCode, type FileSystem } from '../../../process-folder/files.ts'
import { makeHome, type Home } from '../../../process-folder/home.ts'
import { adoptLeft, findDead } from './left.ts'
import { openRequestsFile, type RequestsFile } from './requests-file.ts'

interface LogFolder {
  /** The files that dead processes left, the oldest first. */
  adopt(): Promise<readonly RequestsFile[]>
  create(): Promise<RequestsFile>
  /** Leaves the files to the next process; removes the folder where none are left. */
  leave(): Promise<void>
}

export function logFolder(fs: FileSystem, parent: string, failed: (error: unknown) => void): LogFolder {
  let home: Home | undefined
  let lastNumber = 0

  return {
    async adopt() {
      const dead = await findDead(fs, parent)
      if (dead.length === 0) return []
      home = await makeHome(fs, parent)
      const names = await adoptLeft({ fs, parent, dead, home }, failed)
      lastNumber = names.length
      const files: RequestsFile[] = []
      for (const name of names)
        try {
          files.push(await openRequestsFile(fs, home.folder, name, { create: false }))
        } catch (error) {
          // It stays for the next process; the others are not kept from this one.
          failed(error)
        }
      return files
    },
    async create() {
      home ??= await makeHome(fs, parent)
      lastNumber += 1
      const name = { number: lastNumber, salt: randomBytes(4).readUInt32LE() }
      try {
        return await openRequestsFile(fs, home.folder, name, { create: true })
      } catch (error) {
        if (systemCode(error) === 'ENOENT') {
          // Somebody removed the folder.
          await home.leave().catch(() => {})
          home = undefined
        }
        throw error
      }
    },
    async leave() {
      if (home === undefined) return
      await home.leave()
      await fs.rmdir(home.folder).catch(() => {})
    },
  }
}
