/** One file of kept requests: its name, and how it is appended to, read and blotted out. */
import { join } from 'node:path'
import { FILE_MODE, writeAll, type FileSystem, type OpenedFile } from '../../../process-folder/files.ts'
import { HEADER_BYTES } from '../../../process-folder/frame.ts'

/** A number for the order, and the salt of its checksums. */
const NAME = /^(\d{8,})-([0-9a-f]{8})\.requests$/

export interface RequestsFileName {
  readonly number: number
  readonly salt: number
}

export interface RequestsFile {
  readonly salt: number
  /** Where its records end. */
  readonly end: number
  /** Bytes of its records that still count. */
  live: number
  /** Its requests move to another file, and then it is removed. */
  doomed: boolean
  append(bytes: Buffer): Promise<void>
  read(into: Uint8Array, position: number): Promise<number>
  /** Writes zeros over the payload of the frame that lies there. */
  erase(offset: number, length: number): Promise<void>
  close(): Promise<void>
  /** Closes and removes it. */
  remove(): Promise<void>
}

const ZEROS = Buffer.alloc(64 * 1024)

export function fileName({ number, salt }: RequestsFileName): string {
  return `${String(number).padStart(8, '0')}-${salt.toString(16).padStart(8, '0')}.requests`
}

export function parseFileName(name: string): RequestsFileName | undefined {
  const [, number, salt] = NAME.exec(name) ?? []
  if (number === undefined || salt === undefined) return undefined
  const parsed = { number: Number(number), salt: parseInt(salt, 16) }
  // Another spelling of the number, or one that is too large to be told from the next, would be looked for in vain.
  return fileName(parsed) === name ? parsed : undefined
}

/** Opens the file, or creates it, where it must not exist yet. */
export async function openRequestsFile(
  fs: FileSystem,
  folder: string,
  name: RequestsFileName,
  { create }: { readonly create: boolean },
): Promise<RequestsFile> {
  const path = join(folder, fileName(name))
  const file = create ? await fs.open(path, 'wx', FILE_MODE) : await fs.open(path, 'r+')
  let end = create ? 0 : await sizeOrClose(file)
  return {
    salt: name.salt,
    get end() {
      return end
    },
    live: 0,
    doomed: !create,
    async append(bytes) {
      try {
        await writeAll(file, bytes, end)
      } catch (error) {
        await file.truncate(end).catch(() => {})
        throw error
      }
      if ((await file.stat()).nlink === 0) throw new Error('The file was removed while it was open.')
      end += bytes.length
    },
    async read(into, position) {
      const { bytesRead } = await file.read(into, 0, into.length, position)
      return bytesRead
    },
    async erase(offset, length) {
      for (let at = offset + HEADER_BYTES; at < offset + length; at += ZEROS.length)
        await writeAll(file, ZEROS.subarray(0, Math.min(ZEROS.length, offset + length - at)), at)
    },
    close: () => file.close(),
    async remove() {
      try {
        await fs.rm(path, { force: true })
      } finally {
        await file.close()
      }
    },
  }
}

async function sizeOrClose(file: OpenedFile): Promise<number> {
  try {
    return (await file.stat()).size
  } catch (error) {
    await file.close()
    throw error
  }
}
