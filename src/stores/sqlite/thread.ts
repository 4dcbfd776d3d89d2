/** The main thread's side: each call resolves to its answer, or rejects with the error that ended the thread. */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../runtime/clock.ts'
import { asOurs, MessagingWebhooksError } from '../../public/errors.ts'
import type { StoreHost } from '../../inbox/store.ts'
import { OPENED, receiveError, type Request, type Reply, type Verb, type WorkerSettings } from './protocol.ts'

/** How long a deferred call waits for another one to share its message. */
const DEFER_MS = 5
/** The system clock: nothing here waits for a test clock. */
const clock = systemClock()

/** In development TypeScript files run directly; the published package is JavaScript. Throws if a bundler left the file out. */
function workerFile(): URL {
  // Some bundlers replace `import.meta.url` with `undefined`.
  const own: unknown = import.meta.url
  const url = typeof own === 'string' ? own : ''
  const file = URL.parse(url.endsWith('.ts') ? './worker.ts' : './worker.js', url)
  if (file === null || !existsSync(file)) throw new MessagingWebhooksError('store_bundled')
  return file
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export function startThread(
  settings: WorkerSettings,
  { onWork, report }: Required<Pick<StoreHost, 'onWork' | 'report'>>,
) {
  const worker = new Worker(workerFile(), {
    workerData: settings,
    name: 'messaging-webhooks sqlite',
    // See `watchFile`: a descriptor of the database must stay open.
    trackUnmanagedFds: false,
  })
  let lastNumber = OPENED
  const waiting = new Map<number, Waiting>()
  let toSend: Request[] = []
  let cancelSending: (() => void) | undefined

  function failAll(error: unknown): void {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  function receive(reply: Reply): void {
    if (reply === 'work') onWork()
    else if ('report' in reply) report(asOurs(receiveError(reply.report), 'store_failed'))
    else if (reply.number === OPENED && 'error' in reply) failAll(receiveError(reply.error))
    else {
      const asked = waiting.get(reply.number)
      waiting.delete(reply.number)
      if (waiting.size === 0) worker.unref()
      if ('error' in reply) asked?.reject(receiveError(reply.error))
      else asked?.resolve(reply.value)
    }
  }

  function send(): void {
    const requests = toSend
    toSend = []
    cancelSending?.()
    cancelSending = undefined
    worker.postMessage(requests)
  }

  worker.on('message', (reply: readonly Reply[]) => {
    for (const each of reply) receive(each)
  })
  worker.on('error', failAll)
  worker.on('exit', () => {
    thread.isAlive = false
    failAll(ended())
  })
  const opened = new Promise((resolve, reject) => void waiting.set(OPENED, { resolve, reject }))
  // After a restart, only the pending calls wait for the thread.
  opened.catch(() => {})
  const thread = {
    /** False once the thread has ended for any reason. */
    isAlive: true,
    /** Resolves when the file is open. If it cannot be opened, this and all calls made before reject. */
    opened,
    ask(verb: Verb, args: readonly unknown[]): Promise<unknown> {
      if (!thread.isAlive) return Promise.reject(ended())
      return new Promise((resolve, reject) => {
        const number = (lastNumber += 1)
        // Keeps the process alive only while calls are pending.
        if (waiting.size === 0) worker.ref()
        waiting.set(number, { resolve, reject })
        toSend.push({ number, verb, args })
        // A deferred settlement goes with the next call: a message and a transaction cost more than most calls.
        if (verb === 'settle' && args[2] === true) cancelSending ??= clock.setTimer(send, DEFER_MS, true)
        else send()
      })
    },
    async end(): Promise<void> {
      await worker.terminate()
    },
  }
  return thread
}

function ended(): MessagingWebhooksError {
  return new MessagingWebhooksError('store_failed', 'The thread of the SQLite store has ended.')
}
