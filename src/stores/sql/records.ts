/** Records read from a table of a database that other processes write as well. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { SharedStore, Versioned, VersionedChange } from '../../inbox/record-store.ts'
import { NEWER } from '../../inbox/runtime/codec.ts'
import { storedRecord, type LeftColumns, type RecordColumns } from '../stored.ts'

export interface RecordRow extends RecordColumns {
  readonly number: string
  readonly key: string
  readonly version: number
}

/** A write that may repair the unreadable part of a record. */
export interface RepairingChange extends VersionedChange {
  readonly repairs?: 'state' | 'send'
}

/**
 * Reads rows, except those of a later version. An unreadable record is rebuilt from its remaining payloads. With `repairs`, the
 * rebuilt record is written and reported.
 */
export type ReadRecords = (rows: readonly RecordRow[], repairs: boolean) => Promise<ReadonlyMap<string, Versioned>>

const NOTHING_LEFT = { payloads: [], of: undefined }

export function createReadRecords(options: {
  /** Reads what is stored beside the record with this number. */
  readonly leftOf: (number: string) => Promise<LeftColumns>
  readonly write: (changes: readonly RepairingChange[], asOfMs: undefined) => ReturnType<SharedStore['write']>
  readonly report: (error: MessagingWebhooksError) => void
}): ReadRecords {
  const { leftOf, write, report } = options

  async function restored(row: RecordRow, known: Versioned, repairs: boolean): Promise<Versioned> {
    const left = await leftOf(row.number)
    const found = storedRecord(row, () => left)
    if (found === NEWER) return known
    const { record, corrupt } = found
    const { key, version } = row
    const [part] = corrupt
    if (!repairs || part === undefined) return { version, record }
    // Write the rebuilt record at once: only the process that succeeds reports it.
    const change = { key, expected: version, before: record, after: record, payloads: [], admitted: [], repairs: part }
    const [written] = await write([change], undefined)
    if (written === undefined) return { version, record }
    report(new MessagingWebhooksError('state_damaged', `It is records.${part} of message ${key}.`))
    return { version: written, record }
  }

  return async (rows, repairs) => {
    const records = new Map<string, Versioned>()
    for (const row of rows) {
      const found = storedRecord(row, () => NOTHING_LEFT)
      if (found === NEWER) continue
      const versioned = { version: row.version, record: found.record }
      records.set(row.key, found.corrupt.length === 0 ? versioned : await restored(row, versioned, repairs))
    }
    return records
  }
}
