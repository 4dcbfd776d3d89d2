/** Runs the built command line as a process, as a person at a terminal would. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { AUTH_KEY, CREDENTIALS, SIGNING_SECRET } from '../support/receiving.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export { AUTH_KEY, CREDENTIALS, SIGNING_SECRET }
export const KEYS = { SIGNING_SECRET, AUTH_KEY }

/** The machine may be busy. */
export const POLL = { timeout: 60_000, interval: 50 }

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Running {
  readonly child: ChildProcess
  /** What it printed so far. */
  readonly printed: { stdout: string; stderr: string }
  readonly ended: Promise<Ended>
}

/** Starts it, and kills it when the test ends. */
export function startCli(args: readonly string[], env?: NodeJS.ProcessEnv): Running {
  return startProcess(process.execPath, [MAIN, ...args], env)
}

/** Starts any other program in the same way. */
function startProcess(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input?: string | Uint8Array,
  cwd?: string,
): Running {
  const { PATH } = process.env
  // Without the variables of the test runner, and those that the command line reads.
  const child = spawn(command, args, { env: { PATH, ...env }, stdio: 'pipe', cwd })
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => void (printed[name] += text))
  // The process may end before it has read its input.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, ...printed }))
  return { child, printed, ended }
}

/** Runs it to its end. */
export function runCli(
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
  input?: string | Uint8Array,
  cwd?: string,
): Promise<Ended> {
  return startProcess(process.execPath, [MAIN, ...args], env, input, cwd).ended
}

/** Starts a command that listens on a port of its own; resolves when it says where. */
export async function startListening(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const running = startCli([...args, '--port', '0'], env)
  const address = /http:\/\/127\.0\.0\.1:\d+/
  await expect.poll(() => address.exec(running.printed.stdout)?.[0], POLL).toBeDefined()
  return { ...running, url: address.exec(running.printed.stdout)?.[0] ?? '' }
}

/** Its lines of JSON. */
export function jsonLines(text: string): readonly Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** The environment of a command line without some of the optional packages. */
export function without(...packages: readonly string[]): NodeJS.ProcessEnv {
  const program = new URL('programs/without-packages.ts', import.meta.url)
  return { WITHOUT: packages.join(','), NODE_OPTIONS: `--import=${program.href}` }
}
