/** Runs a program in a separate process, as a person at a terminal would. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Whether it and its children are a group, which a negative process id signals, as Ctrl+C does at a terminal. */
  readonly isGroup?: boolean
}

/** Variables that the test runner sets for itself; an undefined variable is removed. */
const NOT_INHERITED: NodeJS.ProcessEnv = { FORCE_COLOR: undefined, NO_COLOR: undefined, NODE_OPTIONS: undefined }

/** Starts it; `ended` resolves with its output. */
export function startProgram(
  command: string,
  args: readonly string[],
  { env, cwd, isGroup = false }: RunOptions = {},
): { readonly child: ChildProcess; readonly ended: Promise<Ran> } {
  const child = spawn(command, args, {
    cwd,
    detached: isGroup,
    env: { ...process.env, ...NOT_INHERITED, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
    ([stdout, stderr]): Ran => ({ code: child.exitCode, stdout, stderr }),
  )
  return { child, ended }
}

/** Runs it to its end. */
export function runProgram(command: string, args: readonly string[], options?: RunOptions): Promise<Ran> {
  return startProgram(command, args, options).ended
}
