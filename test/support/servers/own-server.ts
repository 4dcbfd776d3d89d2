/** A server for one test: a program in a temporary folder that is started, stopped as by a crash, and removed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = 0
const UNPRIVILEGED_ID = 65_534
const KEPT_OUTPUT = 20_000

/** The path of a program, or undefined: Debian keeps servers out of the path of ordinary users. */
export function programAt(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/bin']
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/** Options that run a child process without root rights, because some servers refuse to run as root. */
export function notRoot(): { readonly uid?: number; readonly gid?: number } {
  return process.getuid?.() === ROOT ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {}
}

/** A folder that belongs to the user of `notRoot`. */
export function serverFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`))
  const { uid, gid } = notRoot()
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

/** Further variables of a server's environment. */
export type Env = Readonly<Record<string, string>>

export interface OwnServer {
  /** Resolves when the server is ready. */
  start(): Promise<void>
  /** Ends the server by its default signal, without closing clients properly, or by the given signal. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Ends the server and removes its folder. */
  remove(): Promise<void>
}

export function ownServer(options: {
  readonly folder: string
  readonly command: string
  readonly args: readonly string[]
  /** The text that it prints once it accepts connections. */
  readonly ready: string
  readonly stopSignal: NodeJS.Signals
  readonly env?: Env | undefined
}): OwnServer {
  const { folder, command, args, ready, stopSignal, env } = options
  let child: ChildProcess | undefined
  // Ends the server if the test runner ends before its tests do.
  const leave = (): void => void child?.kill(stopSignal)

  async function stop(signal = stopSignal): Promise<void> {
    const ending = child
    child = undefined
    if (ending?.exitCode !== null || ending.signalCode !== null) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    await gone
  }

  process.on('exit', leave)
  return {
    async start() {
      const started = spawn(command, args, {
        ...notRoot(),
        env: { ...process.env, ...env },
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = started
      let output = ''
      await new Promise<void>((resolve, reject) => {
        const read = (chunk: Buffer): void => {
          output = (output + chunk.toString()).slice(-KEPT_OUTPUT)
          if (output.includes(ready)) resolve()
        }
        started.stdout.on('data', read)
        started.stderr.on('data', read)
        started.once('error', reject)
        started.once('exit', () => reject(new Error(`${command} ended before it was ready:\n${output}`)))
      })
    },
    stop,
    async remove() {
      await stop()
      process.off('exit', leave)
      // A child of the server, such as one that saves, may still write.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}
