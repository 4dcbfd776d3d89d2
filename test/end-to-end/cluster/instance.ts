/** One of several processes on one store, as the tests start, ask and kill it. Its settings are passed in its environment. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fault } from '../../support/faulty-store.ts'
import type { StoreSpec } from '../../support/servers/store-spec.ts'
import type { Crash } from './crashing.ts'

export const AUTH_KEY = 'auth-key-of-the-cluster'
export const SECRET = 'signing-secret-of-the-cluster'

/** Many processes run the same program: they share one compile cache. */
const COMPILED_ONCE = { NODE_COMPILE_CACHE: join(tmpdir(), 'messaging-webhooks-compiled') }

/** The environment variable with an instance's settings: `ps` and a crash would show arguments. */
export const SETTINGS = 'INSTANCE_SETTINGS'

export interface InstanceSettings {
  readonly store: StoreSpec
  readonly authKey: string
  readonly signingSecret: string
  /** The file that its handlers log to. */
  readonly log: string
  readonly spool?: string
  readonly storeTimeoutMs?: number
  readonly handlerTimeoutMs?: number
  /** Duration of its handlers, which stop when they are aborted. */
  readonly handlerMs?: number
  /** Maximum of a random duration of handlers, which run to their end. Default 4. */
  readonly mostHandlerMs?: number
  /** `false`: it only accepts callbacks. */
  readonly dispatch?: boolean
  /** `false`: it mounts no middleware and only dispatches. */
  readonly takes?: boolean
  /** Whether its store fails on request. */
  readonly faulty?: boolean
  readonly crash?: Crash
  readonly outage?: StoreOutage | undefined
}

/** When its store is unavailable: never, always, from some moment on, or until some moment. */
export const STORE_OUTAGES = ['none', 'all the time', 'from then on', 'until then'] as const

type StoreOutage = (typeof STORE_OUTAGES)[number]

export type InstanceRequest = 'report' | 'drain' | 'hold' | 'release' | 'silence' | Exclude<Fault, 'will not open'>

export interface InstanceAnswer {
  readonly port?: number
  /** Codes that `onError` received, and `start: …` for a rejection of `start()`. */
  readonly codes?: readonly string[]
  readonly drained?: boolean
  readonly unsettled?: number | undefined
  readonly deadLetters?: number | undefined
  /** Time since the last heartbeat of another process on the store. */
  readonly silentMs?: number | undefined
}

export interface Instance {
  /** Empty if it accepts no callbacks. */
  readonly url: string
  readonly log: string
  /** False once it was killed or has ended. */
  readonly isAlive: boolean
  ask(request: InstanceRequest): Promise<InstanceAnswer>
  kill(): Promise<void>
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
  /** Stops the process until `goOn`. */
  standStill(): void
  goOn(): void
}

/** Registers cleanup for the end of the test: that test's `onTestFinished`. */
export type Finally = (work: () => Promise<void>) => void

export async function startInstance(
  settings: Omit<InstanceSettings, 'authKey' | 'signingSecret'>,
  onFinished: Finally,
  nodeOptions = '',
): Promise<Instance> {
  const all: InstanceSettings = { ...settings, authKey: AUTH_KEY, signingSecret: SECRET }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'programs', 'instance.ts')], {
    env: { ...process.env, ...COMPILED_ONCE, NODE_OPTIONS: nodeOptions, [SETTINGS]: JSON.stringify(all) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  let isAlive = true
  const exited = once(child, 'exit').then(() => {
    isAlive = false
  })
  async function kill(): Promise<void> {
    isAlive = false
    child.kill('SIGKILL')
    await exited
  }
  onFinished(kill)

  async function answered(): Promise<InstanceAnswer> {
    const answer = once(child, 'message').then(([message]) => message as InstanceAnswer)
    const ended = exited.then(() => {
      throw new Error(`The instance has ended. It printed:\n${printed}`)
    })
    return Promise.race([answer, ended])
  }

  const { port } = await answered()
  return {
    url: port === undefined ? '' : `http://127.0.0.1:${port}/`,
    log: settings.log,
    get isAlive() {
      return isAlive
    },
    ask(request) {
      const answer = answered()
      child.send(request)
      return answer
    },
    kill,
    ended: exited,
    standStill: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
  }
}
