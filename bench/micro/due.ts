/**
 * The memory store's heap of due times compared with a sorted array: CPU per entry that is added and later removed.
 * `node bench/micro/due.ts`
 */
import { popDue, pushDue, type Due } from '../../src/stores/memory/due-heap.ts'
import { textOf } from '../report/report.ts'

const ENTRIES = 100_000
const WAITING = [16, 1_000, 10_000, 100_000] as const

interface Queue {
  push(entry: Due): void
  first(): Due | undefined
  pop(): void
}

function heap(): Queue {
  const due: Due[] = []
  return { push: (entry) => pushDue(due, entry), first: () => due[0], pop: () => popDue(due) }
}

function sortedArray(): Queue {
  const due: Due[] = []
  return {
    push(entry) {
      let from = 0
      let to = due.length
      while (from < to) {
        const middle = (from + to) >> 1
        const other = due[middle]
        if (other !== undefined && other.dueMs > entry.dueMs) to = middle
        else from = middle + 1
      }
      due.splice(from, 0, entry)
    },
    first: () => due[0],
    pop: () => void due.shift(),
  }
}

const QUEUES = { heap, 'sorted array': sortedArray } as const

/** Most entries are due at once; one in ten has a time of its own, as for a retry or the end of a reorder wait. */
function nanosecondsOf(queue: Queue, waiting: number): number {
  let sequence = 0
  const push = (): void => {
    sequence += 1
    queue.push({ dueMs: sequence + (sequence % 10 === 0 ? (sequence * 7_919) % 60_000 : 0), sequence })
  }
  const churn = (entries: number): void => {
    for (let left = entries; left > 0; left -= 1) {
      push()
      if (queue.first() === undefined) throw new Error('The added entry is missing.')
      queue.pop()
    }
  }
  for (let left = waiting; left > 0; left -= 1) push()
  churn(ENTRIES / 10)
  const before = process.cpuUsage()
  churn(ENTRIES)
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1_000) / ENTRIES
}

const rows = WAITING.flatMap((waiting) =>
  Object.entries(QUEUES).map(([name, create]) => [name, String(waiting), nanosecondsOf(create(), waiting).toFixed(0)]),
)
console.log(
  textOf({
    title: 'Queue of due times',
    notes: [],
    tables: [{ head: ['queue', 'waiting', 'ns CPU'], rows }],
    data: rows,
  }),
)
