/** The CPU time that a Redis server reports: all its threads, without forked processes. */
import type { DatabaseCpu } from './cpu.ts'

export async function redisCpu(url: string): Promise<DatabaseCpu> {
  const { createClient } = await import('redis')
  const client = createClient({ url })
  await client.connect()
  return {
    readMs: async () => cpuMsOf(await client.info('cpu')),
    close: () => client.close(),
  }
}

/** Reads the answer to `INFO cpu`. */
function cpuMsOf(info: string): number {
  const seconds = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? NaN)
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1_000
}
