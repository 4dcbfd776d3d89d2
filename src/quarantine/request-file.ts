/** The file of one request in quarantine. */
import { systemCode, type FileSystem } from '../disk-log/file-system.ts'
import { createLogFile, openLogFile, type LogFile, type LogFileName, type LogKind } from '../disk-log/log-file.ts'
import { encodeRecord } from '../disk-log/record.ts'
import { nextRecord, windowOver } from '../disk-log/scan.ts'
import type { KeptRequest } from './request.ts'

/** The written form of a request. It has no id, because the id derives from the bytes. */
export type Remembered = Omit<KeptRequest, 'id'>

type Written = Omit<Remembered, 'callback'> & {
  readonly callback: Omit<Remembered['callback'], 'captured'> & { readonly decoded: boolean }
}

export const REQUEST_LOG: LogKind<Remembered> = {
  extension: 'request',
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

export type RequestFile = Pick<LogFile, 'path' | 'salt' | 'end'>

/** Writes a new file. If it rejects, none is left. */
export async function writeRequest(
  fs: FileSystem,
  folder: string,
  name: LogFileName,
  request: Remembered,
): Promise<RequestFile> {
  const record = encodeRecord(REQUEST_LOG, request, name.salt)
  const file = await createLogFile(fs, folder, name, REQUEST_LOG)
  try {
    await file.append(record)
  } catch (error) {
    await fs.rm(file.path, { force: true }).catch(() => {})
    throw error
  } finally {
    await file.close()
  }
  return { path: file.path, salt: name.salt, end: record.length }
}

export async function readRequest(fs: FileSystem, { path, salt, end }: RequestFile) {
  const file = await fs.open(path, 'r')
  try {
    return await nextRecord(windowOver(file, end), { from: 0, end, salt }, REQUEST_LOG)
  } finally {
    await file.close()
  }
}

/** Overwrites the file with zeros before its removal. */
export async function eraseRequest(fs: FileSystem, file: RequestFile): Promise<void> {
  try {
    const log = await openLogFile(fs, file, REQUEST_LOG)
    await log.erase(0, file.end).finally(() => log.close())
    await fs.rm(file.path, { force: true })
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}
