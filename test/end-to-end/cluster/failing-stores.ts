/** Runs programs/failing-stores.ts: as many receivers as requested, and everything that it prints. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { StoreSpec } from '../../support/servers/store-spec.ts'
import { temporaryFolder } from './cluster.ts'
import { AUTH_KEY, SECRET, type Finally } from './instance.ts'

export const STORES_FOLDER = 'STORES_FOLDER'

export type StoresRequest = { readonly id: number } & (
  | { readonly spec: StoreSpec; readonly authKey: string; readonly signingSecret: string }
  | { readonly ask: 'codes' | 'end' }
)

export interface StoresAnswer {
  readonly id: number
  /** Absent if the store could not even be created. */
  readonly port?: number
  readonly codes?: readonly string[]
}

interface FailingStores {
  /** Starts a receiver on this store; the URL is empty if that threw. */
  serve(spec: StoreSpec): Promise<{ readonly url: string; codes(): Promise<readonly string[]> }>
  /** Closes all receivers and returns everything that was printed. */
  end(): Promise<string>
}

export function startFailingStores(onFinished: Finally): FailingStores {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'programs', 'failing-stores.ts')], {
    env: { ...process.env, NODE_OPTIONS: '', [STORES_FOLDER]: temporaryFolder(onFinished) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const exited = once(child, 'exit')
  onFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const waiting = new Map<number, (answer: StoresAnswer) => void>()
  // The program's messages.
  child.on('message', (answer: StoresAnswer) => waiting.get(answer.id)?.(answer))
  let ids = 0

  /** One question at a time per id. */
  function ask(request: StoresRequest): Promise<StoresAnswer> {
    const answered = new Promise<StoresAnswer>((resolve) => waiting.set(request.id, resolve))
    const ended = exited.then(() => {
      throw new Error(`A store ended its process, which printed:\n${printed}`)
    })
    child.send(request)
    return Promise.race([answered, ended])
  }

  return {
    async serve(spec) {
      const id = (ids += 1)
      const { port } = await ask({ id, spec, authKey: AUTH_KEY, signingSecret: SECRET })
      return {
        url: port === undefined ? '' : `http://127.0.0.1:${port}/`,
        codes: async () => (await ask({ id, ask: 'codes' })).codes ?? [],
      }
    },
    async end() {
      await ask({ id: 0, ask: 'end' })
      child.kill('SIGKILL')
      await once(child, 'close')
      return printed
    },
  }
}
