/** Two processes of the packed package on one SQLite file, on a Node.js whose SQLite must not share it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

interface Opening {
  /** Its first output: `opened`, or the code of the error. */
  readonly said: string
  end(signal?: 'SIGKILL'): Promise<void>
}

/** The second process is refused while the first runs, and another one is accepted once the first was killed. Returns the differences. */
export async function checkOneFile(node: string, folder: string): Promise<string | undefined> {
  const first = await openFile(node, folder)
  const second = await openFile(node, folder)
  await second.end()
  await first.end('SIGKILL')
  const third = await openFile(node, folder)
  await third.end()
  const said = [first, second, third].map((opening) => opening.said).join(', ')
  return said === 'opened, store_locked, opened' ? undefined : said
}

export async function openFile(node: string, folder: string): Promise<Opening> {
  const child = spawn(node, ['--no-warnings', 'one-file.mjs', 'one-file.db'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const errors = text(child.stderr)
  const exit = once(child, 'exit')
  const [chunk] = (await Promise.race([once(child.stdout, 'data'), exit])) as [unknown]
  const said = Buffer.isBuffer(chunk) ? chunk.toString().trim() : `nothing, but ${await errors}`
  return {
    said,
    async end(signal) {
      if (signal === undefined) child.stdin.end()
      else child.kill(signal)
      await exit
    },
  }
}
