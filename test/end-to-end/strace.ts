/** Runs a program under strace and reads its trace. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** Longer than any write of the load: a string that strace cuts off cannot be searched. */
const LONGEST_STRING = 200_000
const CALLS = [
  ...['openat', 'mkdir', 'rename', 'unlink', 'ftruncate'],
  ...['read', 'write', 'writev', 'sendto', 'sendmsg', 'pwrite64', 'pwritev', 'fsync', 'fdatasync'],
]

/** One line of a trace: the start of a call, its end, or both. A call that another thread interrupted in the trace has two lines. */
export interface TraceLine {
  readonly thread: string
  readonly call: string
  readonly begins: boolean
  readonly ends: boolean
  /** The path or name behind the call's first file descriptor. */
  readonly target: string
  /** The complete text, arguments and result, as strace prints it; for a call with two lines the last one has both. */
  readonly text: string
}

/** Why tracing is impossible here; undefined if it is possible. */
export function whyNoStrace(): string | undefined {
  if (process.platform !== 'linux') return 'this system is not Linux'
  const { error, status, stderr } = spawnSync('strace', ['-f', '--seccomp-bpf', '-e', 'trace=fsync', 'true'], {
    encoding: 'utf8',
  })
  if (error !== undefined) return 'strace is not installed'
  return status === 0 ? undefined : `strace cannot trace (${stderr.trim().split('\n').join(' ')})`
}

/** Starts a Node program under strace, which writes to `output`. `inject` is strace's own option: a call that fails. */
export function startTraced(options: {
  readonly program: URL
  readonly args: readonly string[]
  readonly output: string
  readonly inject: string | undefined
}): ChildProcess {
  const { program, args, output, inject } = options
  return spawn(
    'strace',
    [
      ...['-f', '--seccomp-bpf', '-qq', '-y', '-s', String(LONGEST_STRING), '-o', output],
      ...['-e', `trace=${CALLS.join(',')}`, '-e', 'signal=none'],
      ...(inject === undefined ? [] : ['-e', `inject=${inject}`]),
      ...[process.execPath, program.pathname, ...args],
    ],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  )
}

const UNFINISHED = ' <unfinished ...>'
const RESUMED = /^<\.\.\. (\w+) resumed>/
const STARTED = /^(\w+)\((?:\w+<([^>]*)>)?/

/** The lines of a trace, in the order in which things happened. */
export async function* readTrace(path: string): AsyncGenerator<TraceLine> {
  const unfinished = new Map<string, TraceLine>()
  for await (const line of createInterface({ input: createReadStream(path, 'latin1') })) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    const resumed = RESUMED.exec(rest)
    if (resumed !== null) {
      const begun = unfinished.get(thread)
      if (begun === undefined) continue
      unfinished.delete(thread)
      yield { ...begun, begins: false, ends: true, text: begun.text + rest.slice(resumed[0].length) }
      continue
    }
    const [started, call = '', target = ''] = STARTED.exec(rest) ?? []
    if (started === undefined) continue
    const ends = !rest.endsWith(UNFINISHED)
    const text = ends ? rest : rest.slice(0, -UNFINISHED.length)
    const shown = { thread, call, begins: true, ends, target, text }
    if (!ends) unfinished.set(thread, shown)
    yield shown
  }
}
