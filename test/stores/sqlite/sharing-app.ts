/** Starts receivers that share a file, each in a process of its own. */
import { fork } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { killed } from './holder-processes.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../../support/receiving.ts'

export type AppMessage =
  { readonly port: number } | { readonly refused: string } | { readonly handled: string; readonly attempt: number }

interface SharingApp {
  /** Empty where it was refused. */
  readonly url: string
  /** Why the store could not be opened at first. */
  readonly refused: string | undefined
  /** `message attempt` of what its handlers were given. */
  readonly handled: readonly string[]
  /** Lets handlers go on that wait. */
  goOn(): void
  kill(): Promise<void>
}

/** `oldSqlite`: with an SQLite of which only one process may have the file. */
export async function startSharingApp(path: string, { oldSqlite = false } = {}): Promise<SharingApp> {
  const preload = new URL('./programs/old-sqlite.ts', import.meta.url).href
  // Who is refused need not wait for long; who shares may have to, on a busy machine.
  const args = [path, AUTH_KEY, SIGNING_SECRET, oldSqlite ? '1000' : '20000']
  const child = fork(new URL('./programs/sharing-app.ts', import.meta.url), args, {
    execArgv: oldSqlite ? ['--import', preload] : [],
  })
  onTestFinished(() => killed(child))
  const handled: string[] = []
  const start = await new Promise<{ readonly url: string; readonly refused: string | undefined }>((resolve, reject) => {
    child.once('exit', () => reject(new Error('The app ended before it listened.')))
    // What programs/sharing-app.ts sends.
    child.on('message', (message: AppMessage) => {
      if ('handled' in message) handled.push(`${message.handled} ${message.attempt}`)
      else if ('refused' in message) resolve({ url: '', refused: message.refused })
      else resolve({ url: `http://127.0.0.1:${message.port}/`, refused: undefined })
    })
  })
  return { ...start, handled, goOn: () => void child.send('go on'), kill: () => killed(child) }
}
