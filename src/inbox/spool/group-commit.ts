/** One write and one wait for the disk for all that came while the last one was under way. */
import type { Journal } from './journal.ts'

const MOST_BYTES_A_GROUP = 4 * 1024 * 1024

interface Append {
  readonly bytes: Buffer
  readonly records: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommit {
  /** Records, and their bytes, that are not on the disk yet. */
  readonly records: number
  readonly bytes: number
  append(bytes: Buffer, records: number): Promise<void>
  /** When nothing is under way. */
  idle(): Promise<void>
}

export function createGroupCommit(
  journal: Pick<Journal, 'write'>,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
): GroupCommit {
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

  async function commit(group: readonly Append[]): Promise<void> {
    const [only, another] = group
    if (only === undefined) return
    try {
      const together = another === undefined ? only.bytes : Buffer.concat(group.map((append) => append.bytes))
      await journal.write(
        together,
        group.reduce((sum, append) => sum + append.records, 0),
      )
      for (const append of group) {
        settle(append)
        append.resolve()
      }
    } catch (error) {
      if (another === undefined) {
        settle(only)
        only.reject(error)
        return
      }
      // What does not fit together may fit in part: a large event must not turn its neighbours away.
      const half = Math.ceil(group.length / 2)
      await commit(group.slice(0, half))
      await commit(group.slice(half))
    }
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) await inTurn(() => commit(takeGroup()))
    running = undefined
  }

  return {
    get records() {
      return records
    },
    get bytes() {
      return bytes
    },
    append(appended, count) {
      records += count
      bytes += appended.length
      return new Promise((resolve, reject) => {
        waiting.push({ bytes: appended, records: count, resolve, reject })
        running ??= run()
      })
    },
    async idle() {
      await running
    },
  }
}
