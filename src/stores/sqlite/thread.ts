/** The thread that owns the connection, as the main thread has it: how it is started, and what becomes of its callers when it ends. */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { MessagingWebhooksError } from '../../errors.ts'
import { OPENED, type Reply, type Request, type WorkerSettings } from './protocol.ts'

/** TypeScript's own files run as they are in development; what is published is JavaScript. Throws where a bundler left it behind. */
function workerFile(): URL {
  // Some bundlers make `undefined` of it.
  const own: unknown = import.meta.url
  const url = typeof own === 'string' ? own : ''
  const file = URL.parse(url.endsWith('.ts') ? './worker.ts' : './worker.js', url)
  if (file === null || !existsSync(file)) throw new MessagingWebhooksError('store_bundled')
  return file
}

export interface Thread {
  readonly worker: Worker
  /** False once it has ended, however it did. */
  isAlive: boolean
  lastNumber: number
  /** In the order of the calls, which is that of the answers: the first is the one that is looked for. */
  pending: { readonly number: number; readonly resolve: (value: unknown) => void; readonly reject: Reject }[]
  /** Goes with the next call, before it. */
  putOff: Request[]
  cancelSending: (() => void) | undefined
}

type Reject = (error: unknown) => void

/** Starts a thread; `opened` is what it says when the file is open, and rejects where that cannot be. */
export function startThread(
  settings: WorkerSettings,
  onReplies: (thread: Thread, replies: readonly Reply[]) => void,
): { readonly thread: Thread; readonly opened: Promise<unknown> } {
  const worker = new Worker(workerFile(), {
    workerData: settings,
    name: 'messaging-webhooks sqlite',
    // See `watchFile`: a descriptor of the database must stay open.
    trackUnmanagedFds: false,
  })
  const thread: Thread = {
    worker,
    isAlive: true,
    lastNumber: OPENED,
    pending: [],
    putOff: [],
    cancelSending: undefined,
  }
  function failAll(error: unknown): void {
    for (const { reject } of thread.pending) reject(error)
    thread.pending = []
  }
  worker.on('message', (replies: readonly Reply[]) => onReplies(thread, replies))
  worker.on('error', failAll)
  worker.on('exit', () => {
    thread.isAlive = false
    failAll(ended())
  })
  const opened = new Promise((resolve, reject) => void thread.pending.push({ number: OPENED, resolve, reject }))
  return { thread, opened }
}

export function ended(): MessagingWebhooksError {
  return new MessagingWebhooksError('store_failed', 'The thread of the SQLite store has ended.')
}
