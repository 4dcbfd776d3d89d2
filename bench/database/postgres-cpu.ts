/** The CPU time of a Postgres server: one process per connection, and background processes that write and clean up. */
import type { DatabaseCpu } from './cpu.ts'
import { familyCpuMs, processStat } from './proc-stat.ts'

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']
const PROGRAM = 'postgres'

/** Undefined if the server runs on another machine or its processes cannot be read. */
export async function postgresCpu(url: string): Promise<DatabaseCpu | undefined> {
  if (!LOOPBACK.includes(new URL(url).hostname)) return undefined
  const { Client } = await import('pg')
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    // In a container, its process ids belong to other processes here, if to any.
    const backend = processStat(rows[0]?.pid ?? 0)
    if (backend?.name !== PROGRAM || processStat(backend.parent)?.name !== PROGRAM) return undefined
    return { readMs: async () => familyCpuMs(backend.parent), close: async () => {} }
  } finally {
    await client.end()
  }
}
