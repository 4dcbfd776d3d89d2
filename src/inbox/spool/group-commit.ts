/** Group commit: records that arrive during a write share the next write and sync. */
import { MessagingWebhooksError } from '../../public/errors.ts'

const MOST_BYTES_A_GROUP = 4 * 1024 * 1024

interface Append {
  readonly bytes: Buffer
  readonly records: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The part of a group that could not be written. */
interface Refused {
  /** Records of at least this size will not fit either. */
  bytes: number
  error: unknown
}

export function createGroupCommit(
  writeRecords: (bytes: Buffer, records: number) => Promise<void>,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
) {
  let waiting: Append[] = []
  let records = 0
  let bytes = 0
  let running: Promise<void> | undefined

  function takeGroup(): readonly Append[] {
    let size = 0
    const most = waiting.findIndex((append) => (size += append.bytes.length) > MOST_BYTES_A_GROUP)
    const group = waiting.slice(0, most < 0 ? undefined : Math.max(most, 1))
    waiting = waiting.slice(group.length)
    return group
  }

  function settle({ records: ofThem, bytes: theirs }: Append): void {
    records -= ofThem
    bytes -= theirs.length
  }

  function fail(append: Append, error: unknown): void {
    settle(append)
    append.reject(error)
  }

  async function write(group: readonly Append[]): Promise<void> {
    const all = group.map((append) => append.bytes)
    const [first] = all
    await writeRecords(
      first !== undefined && all.length === 1 ? first : Buffer.concat(all),
      group.reduce((sum, append) => sum + append.records, 0),
    )
  }

  async function commit(group: readonly Append[], refused: Refused): Promise<void> {
    const tried = group.filter((append) => append.bytes.length < refused.bytes)
    for (const append of group) if (append.bytes.length >= refused.bytes) fail(append, refused.error)
    if (tried.length === 0) return
    try {
      await write(tried)
      for (const append of tried) {
        settle(append)
        append.resolve()
      }
    } catch (error) {
      if (tried.length > 1 && isFullSpool(error)) {
        // Retry in halves: a large event must not cause the rejection of small ones.
        const half = Math.ceil(tried.length / 2)
        await commit(tried.slice(0, half), refused)
        await commit(tried.slice(half), refused)
      } else {
        refused.error = error
        refused.bytes = Math.min(...tried.map((append) => append.bytes.length))
        for (const append of tried) fail(append, error)
      }
    }
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) await inTurn(() => commit(takeGroup(), { bytes: Infinity, error: undefined }))
    running = undefined
  }

  return {
    /** Records not yet on the disk. */
    get records(): number {
      return records
    },
    /** Bytes not yet on the disk. */
    get bytes(): number {
      return bytes
    },
    append(appended: Buffer, count: number): Promise<void> {
      records += count
      bytes += appended.length
      return new Promise((resolve, reject) => {
        waiting.push({ bytes: appended, records: count, resolve, reject })
        running ??= run()
      })
    },
    /** Resolves when no write is running. */
    async idle(): Promise<void> {
      await running
    },
  }
}

function isFullSpool(error: unknown): boolean {
  return error instanceof MessagingWebhooksError && error.code === 'spool_full'
}
