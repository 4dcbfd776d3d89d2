/**
 * The files of the quarantine. A request is a record, erased by overwriting it with zeros. If less than half of a file is live,
 * its live records are appended to the current file and the file is removed. Files hold little more than twice the live bytes,
 * and three times during a move.
 */
import { randomBytes } from 'node:crypto'
import { systemCode, type FileSystem } from '../disk-log/file-system.ts'
import { createLogFile, findLogFile, openLogFile, type LogFile, type LogKind } from '../disk-log/log-file.ts'
import { adoptDead, makeProcessFolder, processesIn, type ProcessFolder } from '../disk-log/process-folder.ts'
import { encodeRecord } from '../disk-log/record.ts'
import { recordsIn, windowOver } from '../disk-log/scan.ts'
import type { KeptRequest } from './request.ts'

/** The written form of a request. It has no id, because the id derives from the bytes. */
export type Remembered = Omit<KeptRequest, 'id'>

type Written = Omit<Remembered, 'callback'> & {
  readonly callback: Omit<Remembered['callback'], 'captured'> & { readonly decoded: boolean }
}

export const REQUEST_LOG: LogKind<Remembered> = {
  extension: 'requests',
  // "mq" between a byte that never occurs in UTF-8 and the version.
  magic: Buffer.from([0xf5, 0x6d, 0x71, 0x01]),
  // Files are not preallocated, so an incomplete record ends at the end of the file.
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
    // The checksum proves that `write` produced it.
    const fields = written as Written
    const { decoded, ...rest } = fields.callback
    return { ...fields, callback: { ...rest, captured: { kind: 'exact', decoded, bytes } } }
  },
}

/** A request in memory, and the place of its last written state. */
export interface Entry {
  request: KeptRequest
  place: Place | undefined
  /** The request has left the quarantine, perhaps during a write. It may arrive again as another entry. */
  isRemoved: boolean
}

interface Place {
  readonly file: RequestFile
  readonly at: number
  readonly length: number
}

interface RequestFile {
  readonly log: LogFile
  /** Bytes of live records. */
  live: number
  /** The file receives no more records and is removed once it has no live ones. */
  isMoving: boolean
}

interface RequestFilesOptions {
  readonly fs: FileSystem
  readonly folder: string
  /** Called with the reason why a file could not be adopted or read. Other files are not affected. */
  readonly failed: (error: unknown) => void
  /** Called with a file whose live entries must be appended again. */
  readonly moving: (file: RequestFile) => void
}

/** Files below this size are not moved. */
const SMALL_BYTES = 64 * 1024

export function createRequestFiles({ fs, folder, failed, moving }: RequestFilesOptions) {
  const files = new Set<RequestFile>()
  const erased: Place[] = []
  let own: ProcessFolder | undefined
  let current: RequestFile | undefined
  let lastNumber = 0

  async function adopt(): Promise<void> {
    if ((await processesIn(fs, folder)).dead === 0) return
    own = await makeProcessFolder(fs, folder)
    const names = await adoptDead({ fs, parent: folder, own, extension: REQUEST_LOG.extension, failed })
    lastNumber = names.length
    for (const name of names)
      try {
        const found = await findLogFile(fs, own.folder, name, REQUEST_LOG)
        // Moving merges the files of several processes into one.
        files.add({ log: await openLogFile(fs, found, REQUEST_LOG), live: 0, isMoving: true })
      } catch (error) {
        // The file stays for the next process.
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
        // The folder was removed.
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
    /**
     * Reads the files of dead processes. `found` returns whether a request is live. Resolves to the number of corrupt places.
     */
    async load(found: (remembered: Remembered, place: Place) => boolean): Promise<number> {
      let damages = 0
      await adopt().catch(failed)
      for (const file of files)
        try {
          const { salt, end } = file.log
          // A failed read counts as corruption.
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
     * Appends the entries and erases their earlier records. Also erases the new record of an entry that was removed meanwhile.
     * Resolves to the number of bytes written. If it rejects, no entry was written.
     */
    async append(entries: readonly Entry[]): Promise<number> {
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
        if (entry.isRemoved) erase(place)
        else {
          if (entry.place !== undefined) erase(entry.place)
          entry.place = place
        }
      }
      return at - end
    },
    /** Marks the record as dead; `tidy` overwrites it. */
    erase,
    /** Marks all records as dead; `tidy` removes the files. */
    eraseAll(): void {
      for (const file of files) file.live = 0
    },
    /** Overwrites erased records, removes files without live records, and moves files with few. */
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
    /** Leaves the files to the next process. Removes an empty folder. */
    async close(): Promise<void> {
      for (const { log } of files) await log.close().catch(() => {})
      if (own === undefined) return
      await own.leave()
      await fs.rmdir(own.folder).catch(() => {})
    },
  }
}
