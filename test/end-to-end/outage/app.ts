/** The app of programs/app.ts, run as a process of its own, and what its handlers wrote down. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import type { Fault } from '../../support/faulty-store.ts'

export interface AppOptions {
  readonly database: string
  /** Default: beside the database. */
  readonly spool?: string
  readonly log: string
  readonly storeTimeoutMs: number
  readonly busyTimeoutMs?: number
  /** Whether a store stands in front that fails when it is told to. */
  readonly faulty?: boolean
  readonly authKey: string
  readonly secret: string
}

export type AppFault = Exclude<Fault, 'will not open'>

export type AppRequest = 'report' | 'drain' | 'end the worker' | 'close' | AppFault

export interface AppAnswer {
  readonly port?: number
  readonly codes?: readonly string[]
  readonly longestLoopDelayMs?: number
  readonly drained?: boolean
  readonly unsettled?: number | undefined
}

export interface App {
  readonly url: string
  ask(request: AppRequest): Promise<AppAnswer>
  kill(): Promise<void>
}

export const AUTH_KEY = 'auth-key-of-the-outage-tests'
export const SECRET = 'signing-secret-of-the-outage-tests'

export async function startApp(options: Omit<AppOptions, 'authKey' | 'secret'>): Promise<App> {
  const program = new URL('./programs/app.ts', import.meta.url)
  const settings: AppOptions = { ...options, authKey: AUTH_KEY, secret: SECRET }
  const child = fork(program, [JSON.stringify(settings)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const gone = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))

  async function answered(): Promise<AppAnswer> {
    // What programs/app.ts sends.
    const [message] = (await once(child, 'message')) as [AppAnswer]
    return message
  }

  const { port } = await answered()
  return {
    url: `http://127.0.0.1:${port}/callbacks`,
    ask(request) {
      const answer = answered()
      child.send(request)
      return answer
    },
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}

export interface HandedOver {
  readonly id: string
  /** `message status`, or the event's type. */
  readonly name: string
  readonly attempt: number
  readonly late: boolean
  readonly problem: string
}

/** What handlers were given, in its order. */
export function handedOver(log: string): readonly HandedOver[] {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as HandedOver)
}
