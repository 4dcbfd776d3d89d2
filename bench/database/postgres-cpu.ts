/** The CPU time of a Postgres server: a process a connection, and some that write and clean up. */
import type { DatabaseCpu } from './cpu.ts'
import { familyCpuMs, processStat } from './proc-stat.ts'

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']
const PROGRAM = 'postgres'

/** Undefined where the server is not on this machine, or cannot be looked at. */
export async function postgresCpu(url: string): Promise<DatabaseCpu | undefined> {
  if (!LOOPBACK.includes(new URL(url).hostname)) return undefined
  const { Client } = await import('pg')
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    // In a container of its own its numbers are those of other processes here, if of any.
    const backend = processStat(rows[0]?.pid ?? 0)
    if (backend?.name !== PROGRAM || processStat(backend.parent)?.name !== PROGRAM) return undefined
    return { readMs: async () => familyCpuMs(backend.parent), close: async () => {} }
  } finally {
    await client.end()
  }
}
