/** One worker thread and the calls into it: each gets its answer, or the error that ended the thread. */
import { Worker } from 'node:worker_threads'
import { MessagingWebhooksError } from '../../errors.ts'
import { OPENED, WORK_CAME, type Reply, type Request, type Verb, type WorkerSettings } from './protocol.ts'

/** TypeScript's own files run as they are in development; what is published is JavaScript. */
const WORKER_FILE = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export interface Calls {
  /** False once the thread has ended, however it did. */
  readonly alive: boolean
  /** What the thread answered when the file was open. */
  readonly opened: unknown
  call(verb: Verb, args: readonly unknown[], transfer?: readonly ArrayBuffer[]): Promise<unknown>
  terminate(): Promise<void>
}

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Starts the thread; rejects where the file cannot be opened. */
export async function startCalls(settings: WorkerSettings, onWork: () => void): Promise<Calls> {
  const worker = new Worker(WORKER_FILE, { workerData: settings, name: 'messaging-webhooks sqlite' })
  const pending = new Map<number, Pending>()
  let lastNumber = 0
  let alive = true

  function expect(number: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // An idle store keeps no process alive; one that is asked something does.
      if (pending.size === 0) worker.ref()
      pending.set(number, { resolve, reject })
    })
  }

  function failAll(error: unknown): void {
    for (const { reject } of pending.values()) reject(error)
    pending.clear()
  }

  worker.on('message', (reply: Reply) => {
    if (reply.number === WORK_CAME) {
      onWork()
      return
    }
    const waiting = pending.get(reply.number)
    pending.delete(reply.number)
    if (pending.size === 0) worker.unref()
    if (reply.ok) waiting?.resolve(reply.value)
    else waiting?.reject(asThrown(reply))
  })
  worker.on('error', failAll)
  worker.on('exit', () => {
    alive = false
    failAll(ended())
  })

  return {
    opened: await expect(OPENED),
    get alive() {
      return alive
    },
    call(verb, args, transfer = []) {
      if (!alive) return Promise.reject(ended())
      const number = (lastNumber += 1)
      const reply = expect(number)
      worker.postMessage({ number, verb, args } satisfies Request, transfer)
      return reply
    },
    async terminate() {
      await worker.terminate()
    },
  }
}

function ended(): MessagingWebhooksError {
  return new MessagingWebhooksError('store_failed', 'The thread of the SQLite store has ended.')
}

function asThrown({ error, ours }: Extract<Reply, { readonly ok: false }>): unknown {
  return ours === undefined ? error : new MessagingWebhooksError(ours.code, ours.detail, { cause: error })
}
