/** Addresses on which a command listens, and URLs to which it may send callbacks. */
import type { Server } from 'node:http'
import { z } from 'zod'
import { listenOn, webUrl } from '../emulator/http.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { flag, toggle, usage, wholeNumber, CliError, codeOf } from './command.ts'

const port = wholeNumber(0, 65_535)

export function portFlag(fallback: number) {
  return flag('--port <number>', 'port to listen on; 0 picks a free one', port.default(fallback))
}

export function hostFlag(what = 'address to listen on') {
  return flag('--host <address>', what, z.string().default('127.0.0.1'))
}

export const allowRemote = toggle('--allow-remote', 'allow a URL of another machine')

/** Listens and returns the URL. Throws a `CliError` if the port is unavailable. */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  const { url } = await explainPort(port, () => listenOn(server, port, host))
  return url
}

/** Turns the error of an unavailable port into a `CliError`. */
export async function explainPort<T>(port: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MessagingWebhooksError) || error.code !== 'emulator_port') throw error
    const code = codeOf(error.cause)
    const hint =
      code === 'EADDRINUSE'
        ? 'Another process uses it. Stop that process, or pass --port 0 to pick a free port.'
        : 'Check --host and --port.'
    throw new CliError('failed', `Cannot listen on port ${port} (${code}).`, hint)
  }
}

/** Resolves at Ctrl+C or SIGTERM. */
export async function untilSignal(): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}

/** Throws a `CliError` unless the URL is http or https and names this machine or a remote one is allowed. */
export function checkTarget(url: string, isRemoteAllowed: boolean, called = '--to'): void {
  const target = webUrl(url)
  if (target === undefined)
    throw usage(`${called} is not an http or https URL.`, 'Expected for example http://localhost:3000/webhooks/status')
  if (!isRemoteAllowed && !/^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(target.hostname))
    throw usage(
      `${target.hostname} is not this machine, and each callback contains the Auth Key.`,
      'Pass --allow-remote if it is your server.',
    )
}
