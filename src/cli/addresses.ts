/** Addresses on which a command listens, and URLs to which it may send callbacks. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { webUrl } from '../emulator/http.ts'
import { CliError } from './exit-codes.ts'
import { codeOf } from './secrets.ts'

/** Listens and returns the URL. Throws a `CliError` if the port is unavailable. */
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
    code === 'EADDRINUSE'
      ? 'Another process uses it. Stop that process, or pass --port 0 to pick a free port.'
      : 'Check --host and --port.'
  return new CliError('failed', `Cannot listen on port ${port} (${code}).`, hint)
}

/** Resolves at Ctrl+C or SIGTERM. */
export async function untilSignal(): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}

/** Throws a `CliError` unless the URL is http or https and names this machine or a remote one is allowed. */
export function checkTarget(url: string, allowRemote: boolean, called = '--to'): void {
  const target = webUrl(url)
  if (target === undefined)
    throw new CliError(
      'usage',
      `${called} is not an http or https URL.`,
      'Expected for example http://localhost:3000/webhooks/status',
    )
  if (!allowRemote && !isLoopback(target.hostname))
    throw new CliError(
      'usage',
      `${target.hostname} is not this machine, and each callback contains the Auth Key.`,
      'Pass --allow-remote if it is your server.',
    )
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  )
}
