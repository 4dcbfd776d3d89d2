/**
 * The files of one process with requests in quarantine. A request is appended once. When it is removed, zeros are written
 * over it, for its body holds keys; a file of which less than half counts is doomed: what is in it moves to a new one. So
 * the files never hold much more than twice what is kept, and three times while it moves.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { systemCode, type FileSystem } from '../disk-log/file-system.ts'
import { createLogFile, logFileName, openLogFile, type LogFile, type LogKind } from '../disk-log/log-file.ts'
import { adoptDead, hasDead, makeProcessFolder, type ProcessFolder } from '../disk-log/process-folder.ts'
import { encodeRecord } from '../disk-log/record.ts'
import { nextRecord, windowOver } from '../disk-log/scan.ts'
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

/** Where a request lies. */
export interface Place {
  readonly file: RequestFile
  readonly at: number
  readonly length: number
}

export interface RequestFile {
  readonly log: LogFile
  /** Bytes of its requests that still count. */
  live: number
  /** What is in it moves to another file, and then it is removed. */
  doomed: boolean
}

interface RequestFiles {
  /** Reads what dead processes left; `found` says whether a request counts. Resolves to how many places were damaged. */
  load(found: (remembered: Remembered, place: Place) => boolean): Promise<number>
  /** Resolves to the places of the requests, in their order. Where it rejects, none of them is written. */
  append(requests: readonly KeptRequest[]): Promise<readonly Place[]>
  /** A request that is no longer kept does not count any more; `tidy` overwrites it. */
  remove(place: Place): void
  /** The old place of a request does not count any more; `tidy` overwrites it, unless it goes with a doomed file. */
  leave(place: Place): void
  removeAll(): void
  /** Overwrites what was removed, removes files in which nothing counts, and dooms those in which little does. */
  tidy(): Promise<void>
  /** Leaves the files to the next process; removes the folder where none are left. */
  close(): Promise<void>
}

interface RequestFilesOptions {
  readonly fs: FileSystem
  readonly folder: string
  /** Hears why a file could not be taken over or read; the other files are. */
  readonly failed: (error: unknown) => void
  /** Whose requests must be appended again. */
  readonly doomed: (file: RequestFile) => void
}

/** A file this small is not worth moving. */
const SMALL_BYTES = 64 * 1024

export function createRequestFiles({ fs, folder, failed, doomed }: RequestFilesOptions): RequestFiles {
  const files = new Set<RequestFile>()
  /** Places that are to be overwritten. */
  const gone: Place[] = []
  let own: ProcessFolder | undefined
  let current: RequestFile | undefined
  let lastNumber = 0

  async function adopt(): Promise<void> {
    if (!(await hasDead(fs, folder))) return
    own = await makeProcessFolder(fs, folder)
    const { extension } = REQUEST_LOG
    const names = await adoptDead({ fs, parent: folder, own, extension, failed })
    lastNumber = names.length
    for (const name of names)
      try {
        const path = join(own.folder, logFileName(name, extension))
        const { size: end } = await fs.stat(path)
        files.add({ log: await openLogFile(fs, path, { salt: name.salt, end }, REQUEST_LOG), live: 0, doomed: true })
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
      const file = { log: await createLogFile(fs, own.folder, name, REQUEST_LOG), live: 0, doomed: false }
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

  function doom(file: RequestFile): void {
    file.doomed = true
    if (file === current) current = undefined
    doomed(file)
  }

  function remove(place: Place): void {
    place.file.live -= place.length
    gone.push(place)
  }

  return {
    async load(found) {
      let damages = 0
      await adopt().catch(failed)
      for (const file of files)
        try {
          const { salt, end } = file.log
          // What the disk does not give is damage like any other.
          const window = windowOver(file.log, end, () => {})
          for (let at = 0; at < end;) {
            const next = await nextRecord(window, { from: at, end, salt }, REQUEST_LOG)
            const place = { file, at, length: next.next - at }
            if (next.kind === 'damage' && !next.isErased) damages += 1
            if (next.kind === 'record' && found(next.value, place)) file.live += place.length
            at = next.next
          }
        } catch (error) {
          failed(error)
        }
      return damages
    },
    async append(requests) {
      current ??= await create()
      const file = current
      const { salt, end } = file.log
      const records = requests.map((request) => encodeRecord(REQUEST_LOG, request, salt))
      try {
        await file.log.append(Buffer.concat(records))
      } catch (error) {
        if (!file.log.usable) doom(file)
        throw error
      }
      let at = end
      return records.map(({ length }) => {
        file.live += length
        at += length
        return { file, at: at - length, length }
      })
    },
    remove,
    leave(place) {
      // A file of which only a part has moved still has it all, however often processes die meanwhile.
      if (place.file.doomed) place.file.live -= place.length
      else remove(place)
    },
    removeAll() {
      for (const file of files) file.live = 0
    },
    async tidy() {
      for (const file of files)
        if (file.live === 0 && (file !== current || file.log.end > 0)) {
          files.delete(file)
          if (file === current) current = undefined
          await fs.rm(file.log.path, { force: true }).finally(() => file.log.close())
        }
      for (let place = gone.pop(); place !== undefined; place = gone.pop())
        if (files.has(place.file))
          try {
            await place.file.log.erase(place.at, place.length)
          } catch (error) {
            doom(place.file)
            throw error
          }
      for (const file of files) if (!file.doomed && file.log.end > Math.max(2 * file.live, SMALL_BYTES)) doom(file)
    },
    async close() {
      for (const { log } of files) await log.close().catch(() => {})
      if (own === undefined) return
      await own.leave()
      await fs.rmdir(own.folder).catch(() => {})
    },
  }
}
