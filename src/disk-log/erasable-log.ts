/**
 * The log of one process whose records are erased one by one: zeros are written over each. A file of which less than half
 * counts is moved: its owner appends what counts again, and the file goes. So the files hold little more than twice what
 * counts, and three times while they move.
 */
import { randomBytes } from 'node:crypto'
import { systemCode, type FileSystem } from './file-system.ts'
import { createLogFile, findLogFile, openLogFile, type LogFile, type LogKind } from './log-file.ts'
import { adoptDead, hasDead, makeProcessFolder, type ProcessFolder } from './process-folder.ts'
import { encodeRecord } from './record.ts'
import { recordsIn, windowOver } from './scan.ts'

/** Where a record lies. */
export interface Place {
  readonly file: ErasableFile
  readonly at: number
  readonly length: number
}

export interface ErasableFile {
  readonly log: LogFile
  /** Bytes of its records that count. */
  live: number
  /** No record is appended to it; it is removed when nothing in it counts. */
  isMoving: boolean
}

interface ErasableLog<T> {
  /** Reads what dead processes left; `found` says whether a record counts. Resolves to how many places were damaged. */
  load(found: (value: T, place: Place) => boolean): Promise<number>
  /** Resolves to the places of the records, in their order. Where it rejects, none of them is written. */
  append(values: readonly T[]): Promise<readonly Place[]>
  /** The record does not count any more; `tidy` overwrites it. */
  erase(place: Place): void
  /** No record counts any more; `tidy` removes the files. */
  eraseAll(): void
  /** Overwrites what was erased, removes files in which nothing counts, and moves those in which little does. */
  tidy(): Promise<void>
  /** Leaves the files to the next process; removes the folder where none are left. */
  close(): Promise<void>
}

interface ErasableLogOptions<T> {
  readonly fs: FileSystem
  readonly folder: string
  readonly kind: LogKind<T>
  /** Called with the reason why a file could not be adopted or read; the other files are. */
  readonly failed: (error: unknown) => void
  /** Called with a file whose records must be appended again, and erased there. */
  readonly moving: (file: ErasableFile) => void
}

/** A file this small is not worth moving. */
const SMALL_BYTES = 64 * 1024

export function createErasableLog<T>({ fs, folder, kind, failed, moving }: ErasableLogOptions<T>): ErasableLog<T> {
  const files = new Set<ErasableFile>()
  /** Places that are to be overwritten. */
  const erased: Place[] = []
  let own: ProcessFolder | undefined
  let current: ErasableFile | undefined
  let lastNumber = 0

  async function adopt(): Promise<void> {
    if (!(await hasDead(fs, folder))) return
    own = await makeProcessFolder(fs, folder)
    const names = await adoptDead({ fs, parent: folder, own, extension: kind.extension, failed })
    lastNumber = names.length
    for (const name of names)
      try {
        const found = await findLogFile(fs, own.folder, name, kind)
        // What several processes left becomes one file again.
        files.add({ log: await openLogFile(fs, found.path, found, kind), live: 0, isMoving: true })
      } catch (error) {
        // It stays for the next process; the others are not kept from this one.
        failed(error)
      }
  }

  async function create(): Promise<ErasableFile> {
    own ??= await makeProcessFolder(fs, folder)
    lastNumber += 1
    const name = { number: lastNumber, salt: randomBytes(4).readUInt32LE() }
    try {
      const file = { log: await createLogFile(fs, own.folder, name, kind), live: 0, isMoving: false }
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

  function move(file: ErasableFile): void {
    file.isMoving = true
    if (file === current) current = undefined
    moving(file)
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
    async load(found) {
      let damages = 0
      await adopt().catch(failed)
      for (const file of files)
        try {
          const { salt, end } = file.log
          // What the disk does not give is damage like any other.
          const window = windowOver(file.log, end, () => {})
          for await (const record of recordsIn(window, { from: 0, end, salt }, kind)) {
            const place = { file, at: record.at, length: record.next - record.at }
            if (record.kind === 'damage' && !record.isErased) damages += 1
            if (record.kind === 'record' && found(record.value, place)) file.live += place.length
          }
        } catch (error) {
          failed(error)
        }
      return damages
    },
    async append(values) {
      current ??= await create()
      const file = current
      const { salt, end } = file.log
      const records = values.map((value) => encodeRecord(kind, value, salt))
      try {
        await file.log.append(Buffer.concat(records))
      } catch (error) {
        if (!file.log.usable) move(file)
        throw error
      }
      let at = end
      return records.map(({ length }) => {
        file.live += length
        at += length
        return { file, at: at - length, length }
      })
    },
    erase(place) {
      place.file.live -= place.length
      erased.push(place)
    },
    eraseAll() {
      for (const file of files) file.live = 0
    },
    async tidy() {
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
    async close() {
      for (const { log } of files) await log.close().catch(() => {})
      if (own === undefined) return
      await own.leave()
      await fs.rmdir(own.folder).catch(() => {})
    },
  }
}
