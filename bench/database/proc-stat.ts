/** The CPU time of other processes on this machine, as Linux reports it. */
import { readdirSync, readFileSync } from 'node:fs'

interface ProcessStat {
  readonly name: string
  readonly parent: number
  readonly cpuMs: number
  /** CPU time of the children that have ended. */
  readonly endedChildrenCpuMs: number
}

/** Linux counts CPU time in hundredths of a second on every platform that Node.js supports. */
const TICK_MS = 10

/** Undefined if the process does not exist here, or the system is not Linux. */
export function processStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return undefined
  }
}

/** `/proc/<pid>/stat`: the name is in parentheses and may contain more of them; the fields are counted after the last one. */
function parseStat(text: string): ProcessStat {
  const nameEnd = text.lastIndexOf(')')
  const [, parent, ...others] = text.slice(nameEnd + 2).split(' ')
  const [user = NaN, system = NaN, childrenUser = NaN, childrenSystem = NaN] = others.slice(9, 13).map(Number)
  return {
    name: text.slice(text.indexOf('(') + 1, nameEnd),
    parent: Number(parent),
    cpuMs: (user + system) * TICK_MS,
    endedChildrenCpuMs: (childrenUser + childrenSystem) * TICK_MS,
  }
}

/** CPU time of a process and its children, including children that have ended. */
export function familyCpuMs(pid: number): number {
  const own = processStat(pid)
  if (own === undefined) throw new Error(`Process ${pid} has ended.`)
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => processStat(Number(entry)))
    .filter((stat) => stat?.parent === pid)
    .reduce((sum, stat) => sum + (stat?.cpuMs ?? 0), own.cpuMs + own.endedChildrenCpuMs)
}
