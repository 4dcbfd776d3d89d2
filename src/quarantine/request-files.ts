/**
 * The files of the quarantine: kept requests are records that are erased one by one, by zeros that are written over each. A file
 * of which less than half counts is moved: what counts is appended again, and the file goes. So the files hold little more than
 * twice what counts, and three times while they move.
 */
import { randomBytes } from 'node:crypto'
import { systemCode, type FileSystem } from '../disk-log/file-system.ts'
import { createLogFile, findLogFile, openLogFile, type LogFile, type LogKind } from '../disk-log/log-file.ts'
import { adoptDead, hasDead, makeProcessFolder, type ProcessFolder } from '../disk-log/process-folder.ts'
import { encodeRecord } from '../disk-log/record.ts'
import { recordsIn, windowOver } from '../disk-log/scan.ts'
import type { KeptRequest } from './request.ts'

/** What is written of a request; its id follows from its bytes. */
export type Remembered = Omit<KeptRequest, 'id'>

type Written = Omit<Remembered, 'callback'> & {
  readonly callback: Omit<Remembered['callback'], 'captured'> & { readonly decoded: boolean }
}

export const REQUEST_LOG: LogKind<Remembered> = {
  extension: 'requests',
  // "mq" between a byte that no UTF-8 has and the version.
  magic: Buffer.from([0xf5, 0x6d, 0x71, 0x01]),
  // No room is set aside for them, so what was not written to its end ends before it.
  end: Buffer.alloc(0),
  synced: false,
  write({ callback, class: name, unchecked, code, offsetSeconds, project, sequence }) {
    const { captured, ...rest } = callback
    const { bytes, decoded } = captured
    const standing = { class: name, unchecked, code, offsetSeconds, project, sequence }
    const fields: Written = { ...standing, callback: { ...rest, decoded } }
    return { fields, bytes }
  },
  read(written, bytes) {
    // What `write` returned, as the checksum says.
    const fields = written as Written
    const { decoded, ...rest } = fields.callback
    return { ...fields, callback: { ...rest, captured: { kind: 'exact', decoded, bytes } } }
  },
}

/** A request that memory keeps, and where the state of it lies that was written last. */
export interface Entry {
  request: KeptRequest
  place: Place | undefined
}

interface Place {
  readonly file: RequestFile
  readonly at: number
  readonly length: number
}

interface RequestFile {
  readonly log: LogFile
  /** Bytes of its records that count. */
  live: number
  /** No record is appended to it; it is removed when nothing in it counts. */
  isMoving: boolean
}

interface RequestFilesOptions {
  readonly fs: FileSystem
  readonly folder: string
  /** Called with the reason why a file could not be adopted or read; the other files are. */
  readonly failed: (error: unknown) => void
  /** Called with a file whose entries must be appended again. */
  readonly moving: (file: RequestFile) => void
}

/** A file this small is not worth moving. */
const SMALL_BYTES = 64 * 1024

export function createRequestFiles({ fs, folder, failed, moving }: RequestFilesOptions) {
  const files = new Set<RequestFile>()
  /** Places that are to be overwritten. */
  const erased: Place[] = []
  let own: ProcessFolder | undefined
  let current: RequestFile | undefined
  let lastNumber = 0

  async function adopt(): Promise<void> {
    if (!(await hasDead(fs, folder))) return
    own = await makeProcessFolder(fs, folder)
    const names = await adoptDead({ fs, parent: folder, own, extension: REQUEST_LOG.extension, failed })
    lastNumber = names.length
    for (const name of names)
      try {
        const found = await findLogFile(fs, own.folder, name, REQUEST_LOG)
        // What several processes left becomes one file again.
        files.add({ log: await openLogFile(fs, found.path, found, REQUEST_LOG), live: 0, isMoving: true })
      } catch (error) {
        // It stays for the next process; the others are not kept from this one.
        failed(error)
      }
  }

  async function create(): Promise<RequestFile> {
    own ??= await makeProcessFolder(fs, folder)
    lastNumber += 1
    const name = { number: lastNumber, salt: randomBytes(4).readUInt32LE() }
    try {
      const file = { log: await createLogFile(fs, own.folder, name, REQUEST_LOG), live: 0, isMoving: false }
      files.add(file)
      return file
    } catch (error) {
      if (systemCode(error) === 'ENOENT') {
        // Somebody removed the folder.
        await own.leave().catch(() => {})
        own = undefined
      }
      throw error
    }
  }

  function move(file: RequestFile): void {
    file.isMoving = true
    if (file === current) current = undefined
    moving(file)
  }

  function erase(place: Place): void {
    place.file.live -= place.length
    erased.push(place)
  }

  async function removeEmpty(): Promise<void> {
    for (const file of files) {
      if (file.live > 0 || (file === current && file.log.end === 0)) continue
      files.delete(file)
      if (file === current) current = undefined
      await fs.rm(file.log.path, { force: true }).finally(() => file.log.close())
    }
  }

  return {
    /** Reads what dead processes left; `found` says whether a request counts. Resolves to how many places were damaged. */
    async load(found: (remembered: Remembered, place: Place) => boolean): Promise<number> {
      let damages = 0
      await adopt().catch(failed)
      for (const file of files)
        try {
          const { salt, end } = file.log
          // What the disk does not give is damage like any other.
          const window = windowOver(file.log, end, () => {})
          for await (const record of recordsIn(window, { from: 0, end, salt }, REQUEST_LOG)) {
            const place = { file, at: record.at, length: record.next - record.at }
            if (record.kind === 'damage' && !record.isErased) damages += 1
            if (record.kind === 'record' && found(record.value, place)) file.live += place.length
          }
        } catch (error) {
          failed(error)
        }
      return damages
    },
    /**
     * Writes the entries, and erases what was written of them before; of those that `isKept` denies by then, all. Resolves to
     * the bytes that were written. Where it rejects, none of them is.
     */
    async append(entries: readonly Entry[], isKept: (entry: Entry) => boolean): Promise<number> {
      current ??= await create()
      const file = current
      const { salt, end } = file.log
      const records = entries.map(({ request }) => encodeRecord(REQUEST_LOG, request, salt))
      try {
        await file.log.append(Buffer.concat(records))
      } catch (error) {
        if (!file.log.usable) move(file)
        throw error
      }
      let at = end
      for (const [index, entry] of entries.entries()) {
        const length = records[index]?.length ?? 0
        const place = { file, at, length }
        at += length
        file.live += length
        if (!isKept(entry)) erase(place)
        else {
          if (entry.place !== undefined) erase(entry.place)
          entry.place = place
        }
      }
      return at - end
    },
    /** The record does not count any more; `tidy` overwrites it. */
    erase,
    /** No record counts any more; `tidy` removes the files. */
    eraseAll(): void {
      for (const file of files) file.live = 0
    },
    /** Overwrites what was erased, removes files in which nothing counts, and moves those in which little does. */
    async tidy(): Promise<void> {
      await removeEmpty()
      for (let place = erased.pop(); place !== undefined; place = erased.pop())
        if (files.has(place.file))
          try {
            await place.file.log.erase(place.at, place.length)
          } catch (error) {
            move(place.file)
            throw error
          }
      for (const file of files) if (!file.isMoving && file.log.end > Math.max(2 * file.live, SMALL_BYTES)) move(file)
    },
    /** Leaves the files to the next process; removes the folder where none are left. */
    async close(): Promise<void> {
      for (const { log } of files) await log.close().catch(() => {})
      if (own === undefined) return
      await own.leave()
      await fs.rmdir(own.folder).catch(() => {})
    },
  }
}
