/** A file of disk-log records, for tests that corrupt it at every byte: spool and quarantine share the format. */
import { HEADER_BYTES } from '../../src/disk-log/record.ts'

/** A run takes a fixed selection of positions, `EVERY_BYTE=1` takes them all. */
export const WHOLE = process.env['EVERY_BYTE'] !== undefined
export const TIMEOUT = { timeout: WHOLE ? 900_000 : 120_000 }
/** A prime, so that a run covers fields of every alignment. */
const STRIDE = 97
export const SALT = 0x5a17_0001
export const MARKER = 'SECRET-OF-A-BODY'
export const PROCESS_FOLDER = 'v1-aaaaaaaaaaaa'

export type Files = Readonly<Record<string, Buffer>>

/** The records one after another. */
export function fileOf(records: readonly Buffer[]) {
  const file = Buffer.concat(records)
  /** Where each record begins, and where the last one ends. */
  const starts = records.reduce<number[]>((all, record) => [...all, (all.at(-1) ?? 0) + record.length], [0])
  return {
    file,
    starts,
    /** All positions, or the first and last bytes of each record and some between. */
    places(): readonly number[] {
      const isChosen = (at: number): boolean =>
        starts.some((start) => Math.abs(at - start) <= 2 || at - start === HEADER_BYTES) || at % STRIDE === 0
      return Array.from({ length: file.length }, (_, at) => at).filter((at) => WHOLE || isChosen(at))
    },
    /** The number of the record that contains this position. */
    recordAt: (at: number): number => starts.findLastIndex((start) => start <= at),
    /** The file with another byte at this position. */
    changed(at: number, to: (byte: number) => number): Buffer {
      const bytes = Buffer.from(file)
      bytes.writeUInt8(to(file[at] ?? 0), at)
      return bytes
    },
  }
}
