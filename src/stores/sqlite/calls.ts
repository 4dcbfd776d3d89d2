/** One worker thread and the calls into it: each gets its answer, or the error that ended the thread. */
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import {
  OPENED,
  REPORT,
  WORK_CAME,
  type OurError,
  type Reply,
  type Request,
  type Verb,
  type WorkerSettings,
} from './protocol.ts'

/** TypeScript's own files run as they are in development; what is published is JavaScript. */
const WORKER_FILE = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** How long a lazy call waits for another one to go with. */
const LAZY_MS = 5

export interface Calls {
  /** False once the thread has ended, however it did. */
  readonly alive: boolean
  /** What the thread answered when the file was open. */
  readonly opened: unknown
  call(verb: Verb, args: readonly unknown[], how?: How): Promise<unknown>
  terminate(): Promise<void>
}

interface How {
  /** Buffers that are handed over and not copied. */
  readonly transfer?: readonly ArrayBuffer[]
  /** Asks with the next call, or soon: a message to the thread, and a transaction in it, cost more than most calls. */
  readonly lazily?: boolean
}

interface Pending {
  readonly number: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Who hears what the thread says of itself. */
export interface CallsHost {
  readonly onWork: () => void
  readonly report: (error: MessagingWebhooksError) => void
}

/** Starts the thread; rejects where the file cannot be opened. */
export async function startCalls(settings: WorkerSettings, { onWork, report }: CallsHost): Promise<Calls> {
  const worker = new Worker(WORKER_FILE, { workerData: settings, name: 'messaging-webhooks sqlite' })
  // The machine's own, whatever clock the receiver has: nothing here is put off until a test moves on.
  const clock = systemClock()
  /** In the order of the calls, which is that of the answers: the first is the one that is looked for. */
  let pending: Pending[] = []
  let lastNumber = 0
  let alive = true
  let lazy: Request[] = []
  let cancelLazy: (() => void) | undefined

  function expect(number: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // An idle store keeps no process alive; one that is asked something does.
      if (pending.length === 0) worker.ref()
      pending.push({ number, resolve, reject })
    })
  }

  function failAll(error: unknown): void {
    for (const { reject } of pending) reject(error)
    pending = []
  }

  function answered(reply: Reply): void {
    if (reply.number === WORK_CAME) {
      onWork()
      return
    }
    if (reply.number === REPORT && reply.ok) {
      // What the thread's own report wrote.
      const { code, detail } = reply.value as OurError
      report(new MessagingWebhooksError(code, detail))
      return
    }
    const place = pending.findIndex(({ number }) => number === reply.number)
    const [waiting] = place === -1 ? [] : pending.splice(place, 1)
    if (pending.length === 0) worker.unref()
    if (reply.ok) waiting?.resolve(reply.value)
    else waiting?.reject(asThrown(reply))
  }

  /** What was put off goes first, for it was asked first. */
  function post(last: readonly Request[], transfer: readonly ArrayBuffer[]): void {
    const requests = [...lazy, ...last]
    lazy = []
    cancelLazy?.()
    cancelLazy = undefined
    if (alive) worker.postMessage(requests, transfer)
  }

  worker.on('message', (replies: readonly Reply[]) => {
    for (const reply of replies) answered(reply)
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
    call(verb, args, { transfer = [], lazily = false } = {}) {
      if (!alive) return Promise.reject(ended())
      const number = (lastNumber += 1)
      const reply = expect(number)
      if (lazily) {
        lazy.push({ number, verb, args })
        cancelLazy ??= clock.setTimer(() => post([], []), LAZY_MS, true)
      } else {
        post([{ number, verb, args }], transfer)
      }
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
