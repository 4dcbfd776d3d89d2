/** The machine's own files, which fail as a test says. */
import { nodeFs, type FileSystem, type OpenedFile } from '../../src/disk-log/file-system.ts'

/** The real files, with some methods replaced by a test; `real` is the underlying file. */
export function faultyFs(fault: (real: OpenedFile, path: string) => Partial<OpenedFile>): FileSystem {
  return {
    ...nodeFs,
    async open(path, flags, mode) {
      const real = await nodeFs.open(path, flags, mode)
      return {
        read: (...args) => real.read(...args),
        write: (...args) => real.write(...args),
        datasync: () => real.datasync(),
        sync: () => real.sync(),
        stat: () => real.stat(),
        truncate: (length) => real.truncate(length),
        close: () => real.close(),
        ...fault(real, path),
      }
    },
  }
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by a test`), { code })
}
