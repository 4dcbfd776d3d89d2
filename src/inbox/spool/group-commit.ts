/** Group commit: records that arrive during a write share the next write and sync. */
import { MessagingWebhooksError } from '../../public/errors.ts'

const MAX_BYTES_A_GROUP = 4 * 1024 * 1024

interface Append {
  readonly bytes: Buffer
  readonly records: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
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
    const most = waiting.findIndex((append) => (size += append.bytes.length) > MAX_BYTES_A_GROUP)
    const group = waiting.slice(0, most < 0 ? undefined : Math.max(most, 1))
    waiting = waiting.slice(group.length)
    return group
  }

  /** Resolves to whether all are written. */
  async function commit(group: readonly Append[]): Promise<boolean> {
    const [first] = group
    try {
      const all = group.map((append) => append.bytes)
      await writeRecords(
        first !== undefined && all.length === 1 ? first.bytes : Buffer.concat(all),
        group.reduce((sum, append) => sum + append.records, 0),
      )
      end(group, (append) => append.resolve())
      return true
    } catch (error) {
      if (group.length === 1 || !isFullSpool(error)) end(group, (append) => append.reject(error))
      else await commitEach(group, error)
      return false
    }
  }

  /** A large event must not cause the rejection of small ones. An event that is not smaller than a rejected one is not tried. */
  async function commitEach(group: readonly Append[], error: unknown): Promise<void> {
    let least = Infinity
    for (const append of group)
      if (append.bytes.length >= least) end([append], ({ reject }) => reject(error))
      else if (!(await commit([append]))) least = append.bytes.length
  }

  function end(group: readonly Append[], settle: (append: Append) => void): void {
    for (const append of group) {
      records -= append.records
      bytes -= append.bytes.length
      settle(append)
    }
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) await inTurn(() => commit(takeGroup()))
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
