/** The CPU time of a MariaDB or MySQL server on this machine: one process with all its threads. */
import { readFile } from 'node:fs/promises'
import type { RowDataPacket } from 'mysql2/promise'
import type { DatabaseCpu } from './cpu.ts'
import { processStat } from './proc-stat.ts'

const PROGRAMS: readonly string[] = ['mariadbd', 'mysqld']

/** Undefined if the server runs on another machine or its process cannot be read. */
export async function mysqlCpu(url: string): Promise<DatabaseCpu | undefined> {
  const { createConnection } = await import('mysql2/promise')
  const connection = await createConnection(url)
  try {
    const [rows] = await connection.query<RowDataPacket[]>('SELECT @@pid_file AS file')
    const file = String(rows[0]?.['file'])
    const pid = Number(await readFile(file, 'utf8').catch(() => NaN))
    const readMs = (): number | undefined => {
      const stat = processStat(pid)
      return stat !== undefined && PROGRAMS.includes(stat.name) ? stat.cpuMs : undefined
    }
    if (readMs() === undefined) return undefined
    return { readMs: async () => readMs() ?? NaN, close: async () => {} }
  } finally {
    await connection.end()
  }
}
