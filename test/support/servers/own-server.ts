/** A server of a test's own: a program in a folder of its own that is started, stopped as by a crash, and removed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = 0
const NOBODY = 65_534
const KEPT_OUTPUT = 20_000

/** What a child process needs in order not to be root, who may not run every server. */
export function notRoot(): { readonly uid?: number; readonly gid?: number } {
  return process.getuid?.() === ROOT ? { uid: NOBODY, gid: NOBODY } : {}
}

/** A folder that belongs to the user of `notRoot`. */
export function serverFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`))
  const { uid, gid } = notRoot()
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

export interface OwnServer {
  /** Resolves when it says that it is ready. */
  start(): Promise<void>
  /** Ends it by its signal, without a farewell to its clients, or by this one. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Ends it and takes its folder away. */
  remove(): Promise<void>
}

export function ownServer(options: {
  readonly folder: string
  readonly command: string
  readonly args: readonly string[]
  /** What it prints once it takes connections. */
  readonly ready: string
  readonly stopSignal: NodeJS.Signals
}): OwnServer {
  const { folder, command, args, ready, stopSignal } = options
  let child: ChildProcess | undefined
  // Where the test runner ends before its tests do, no server is left behind.
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
      const started = spawn(command, args, { ...notRoot(), cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
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
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
