/** The CPU time of other processes of this machine, as Linux tells it. */
import { readdirSync, readFileSync } from 'node:fs'

interface ProcessStat {
  readonly name: string
  readonly parent: number
  readonly cpuMs: number
  /** Of the children that have ended. */
  readonly endedChildrenCpuMs: number
}

/** Linux counts this in hundredths of a second, on every platform that Node.js runs on. */
const TICK_MS = 10

/** Undefined where there is no such process here, or no Linux. */
export function processStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return undefined
  }
}

/** `/proc/<pid>/stat`: the name is in parentheses and may contain any; the fields are counted from behind it. */
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

/** Of a process and its children, the ended ones included. */
export function familyCpuMs(pid: number): number {
  const own = processStat(pid)
  if (own === undefined) throw new Error(`There is no process ${pid} any more.`)
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => processStat(Number(entry)))
    .filter((stat) => stat?.parent === pid)
    .reduce((sum, stat) => sum + (stat?.cpuMs ?? 0), own.cpuMs + own.endedChildrenCpuMs)
}
