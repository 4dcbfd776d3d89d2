/** One of several processes on one store, as the tests start, ask and kill it. What it is told goes by its environment. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fault } from '../../support/faulty-store.ts'
import type { StoreSpec } from '../../support/servers/store-spec.ts'
import type { Crash } from './crashing.ts'

export const AUTH_KEY = 'auth-key-of-the-cluster'
export const SECRET = 'signing-secret-of-the-cluster'

/** Many processes of the same program: what one has compiled the others take. */
const COMPILED_ONCE = { NODE_COMPILE_CACHE: join(tmpdir(), 'messaging-webhooks-compiled') }

/** The environment variable in which an instance finds its settings: arguments are shown by `ps`, and by a crash. */
export const SETTINGS = 'INSTANCE_SETTINGS'

export interface InstanceSettings {
  readonly store: StoreSpec
  readonly authKey: string
  readonly signingSecret: string
  /** The file for what its handlers do. */
  readonly log: string
  readonly spool?: string
  readonly storeTimeoutMs?: number
  readonly handlerTimeoutMs?: number
  readonly gapTimeoutMs?: number
  /** Its handlers take so long, and stop where they are told to. */
  readonly handlerMs?: number
  /** At most so long, at random, and to their end. Default 4. */
  readonly mostHandlerMs?: number
  /** `false`: it only takes. */
  readonly dispatch?: boolean
  /** `false`: it mounts no middleware, and only hands over. */
  readonly takes?: boolean
  /** Whether its store fails when it is told to. */
  readonly faulty?: boolean
  readonly crash?: Crash
  readonly outage?: StoreOutage | undefined
}

/** When its store is unavailable: never, all the time, from some moment on, or until some moment. */
export const STORE_OUTAGES = ['none', 'all the time', 'from then on', 'until then'] as const

type StoreOutage = (typeof STORE_OUTAGES)[number]

export type InstanceRequest =
  'report' | 'drain' | 'close' | 'hold' | 'release' | 'silence' | 'end the worker' | Exclude<Fault, 'will not open'>

export interface InstanceAnswer {
  readonly port?: number
  /** What `onError` heard, and `start: …` for what `start()` rejected with. */
  readonly codes?: readonly string[]
  readonly drained?: boolean
  readonly unsettled?: number | undefined
  readonly deadLetters?: number | undefined
  /** How long another process on the store has shown no life. */
  readonly silentMs?: number | undefined
}

export interface Instance {
  /** Empty where it takes nothing. */
  readonly url: string
  readonly log: string
  /** False once it was killed or has ended. */
  readonly isAlive: boolean
  ask(request: InstanceRequest): Promise<InstanceAnswer>
  kill(): Promise<void>
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
  /** It stands still until it goes on. */
  standStill(): void
  goOn(): void
}

/** Who ends it when the test does: `onTestFinished` of that test. */
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
