/** The thread that owns the connection, as the main thread has it: each call gets its answer, or the error that ended the thread. */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../runtime/clock.ts'
import { asOurs, MessagingWebhooksError } from '../../public/errors.ts'
import type { StoreHost } from '../../inbox/store.ts'
import { OPENED, receiveError, type Request, type Said, type Verb, type WorkerSettings } from './protocol.ts'

/** How long a lazy call waits for another one to go with. */
const LAZY_MS = 5
/** The machine's own, whatever clock the receiver has: nothing here is put off until a test moves on. */
const clock = systemClock()

/** TypeScript's own files run as they are in development; what is published is JavaScript. Throws where a bundler left it behind. */
function workerFile(): URL {
  // Some bundlers make `undefined` of it.
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

  function hear(said: Said): void {
    if (said === 'work') onWork()
    else if ('report' in said) report(asOurs(receiveError(said.report), 'store_failed'))
    else if (said.number === OPENED && 'error' in said) failAll(receiveError(said.error))
    else {
      const asked = waiting.get(said.number)
      waiting.delete(said.number)
      if (waiting.size === 0) worker.unref()
      if ('error' in said) asked?.reject(receiveError(said.error))
      else asked?.resolve(said.value)
    }
  }

  function send(): void {
    const requests = toSend
    toSend = []
    cancelSending?.()
    cancelSending = undefined
    worker.postMessage(requests)
  }

  worker.on('message', (said: readonly Said[]) => {
    for (const each of said) hear(each)
  })
  worker.on('error', failAll)
  worker.on('exit', () => {
    thread.isAlive = false
    failAll(ended())
  })
  const opened = new Promise((resolve, reject) => void waiting.set(OPENED, { resolve, reject }))
  // After a restart nothing waits for it but the calls.
  opened.catch(() => {})
  const thread = {
    /** False once it has ended, however it did. */
    isAlive: true,
    /** Resolves to what it says when the file is open, and rejects where that cannot be, as all calls that were made before. */
    opened,
    ask(verb: Verb, args: readonly unknown[]): Promise<unknown> {
      if (!thread.isAlive) return Promise.reject(ended())
      return new Promise((resolve, reject) => {
        const number = (lastNumber += 1)
        // An idle store keeps no process alive; one that is asked something does.
        if (waiting.size === 0) worker.ref()
        waiting.set(number, { resolve, reject })
        toSend.push({ number, verb, args })
        // A lazy settlement goes with the next call: a message to the thread, and a transaction in it, cost more than most calls.
        if (verb === 'settle' && args[2] === true) cancelSending ??= clock.setTimer(send, LAZY_MS, true)
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
