/** Starts, asks, feeds and kills the app of programs/inbox-app.ts. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export const AUTH_KEY = 'auth-key-of-the-inbox-tests'

export interface InboxAppSettings {
  readonly folder: string
  readonly authKey: string
  readonly synchronous?: 'FULL' | 'NORMAL' | 'OFF'
  /** Whether handlers log what they receive. */
  readonly logs?: boolean
  readonly held?: boolean
  readonly slowMs?: number
  readonly concurrency?: number
}

export type Question =
  | { readonly ask: 'stats' | 'cpuMs' | 'memory' }
  | { readonly ask: 'drain'; readonly deadlineMs: number }
  | { readonly ask: 'behave'; readonly held?: boolean; readonly slowMs?: number }

export interface Memory {
  readonly heap: number
  readonly external: number
  readonly threadHeap: number
  readonly rss: number
}

const PROGRAM = join(import.meta.dirname, 'programs', 'inbox-app.ts')

/** Starts the app, and ends it after the test unless the test has done so. */
export async function startInboxApp(settings: Omit<InboxAppSettings, 'authKey'>) {
  const child = fork(PROGRAM, [JSON.stringify({ authKey: AUTH_KEY, ...settings })], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  const [{ port, startCpuMs }] = (await once(child, 'message')) as [{ port: number; startCpuMs: number }]
  const url = `http://127.0.0.1:${port}/`

  return {
    url,
    startCpuMs,
    kill,
    /** One question at a time. */
    async ask<T>(question: Question): Promise<T> {
      child.send(question)
      const [answer] = (await once(child, 'message')) as [{ value: T } | { failed: string }]
      if ('failed' in answer) throw new Error(answer.failed)
      return answer.value
    },
    /** POSTs a callback; the authKey proves it, so that no clock is involved. */
    async post(body: object): Promise<number> {
      const response = await fetch(url, { method: 'POST', body: JSON.stringify({ ...body, authKey: AUTH_KEY }) })
      await response.arrayBuffer()
      return response.status
    },
  }
}

export type InboxApp = Awaited<ReturnType<typeof startInboxApp>>

/** What handlers received, in order. */
export function dispatchedEvents(folder: string) {
  const lines = readFileSync(join(folder, 'handlers.log'), 'utf8').split('\n')
  // An empty file, and the rest after the last line's end, do not count as lines.
  return lines.filter(Boolean).map((line) => {
    const [messageId = '', status = ''] = line.split(' ')
    return { messageId, status }
  })
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
