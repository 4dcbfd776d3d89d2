/** Listening, and ending at a signal. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { CliError } from './exit-codes.ts'
import { codeOf } from './secrets.ts'

/** Listens; says where. Throws a `CliError` where the port cannot be had. */
export async function listen(
  server: Server,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<{ readonly url: string }> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    throw portError(port, codeOf(error))
  }
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}` }
}

export function portError(port: number, code: string): CliError {
  const hint =
    code === 'EADDRINUSE' ? 'Another process has it; --port 0 picks a free one.' : 'Look at --host and --port.'
  return new CliError('failed', `Port ${port} cannot be listened on (${code}).`, hint)
}

/** Resolves at Ctrl+C or SIGTERM. */
export async function untilSignal(): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
