/**
 * The main thread's side: the operations of the contract, each answered by the thread that owns the connection.
 *
 * Measured with 32 connections on one file with FULL, in one run: the thread handled 1.6 to 2.9 times as many callbacks as group
 * commit on the main thread, at 0.5 to 0.7 of its p99. The p99 delay of the event loop fell to about a tenth.
 */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { asOurs, MessagingWebhooksError } from '../../public/errors.ts'
import type { ItemOf, MessageStore, Page, Query, StoreHost } from '../../inbox/store.ts'
import type { AnswerOf, Command } from '../../messages/commands.ts'
import { systemClock } from '../../runtime/clock.ts'
import { catchUp } from '../catch-up.ts'
import { MAX_APART_MS } from '../server-time.ts'
import { createTrustedTime } from '../trusted-time.ts'
import { packCommands, withBuffers } from './encoding.ts'
import type { Times } from './engine.ts'
import {
  OPENED,
  receiveError,
  type CallName,
  type Calls,
  type Reply,
  type Request,
  type WorkerSettings,
} from './protocol.ts'
import { livingWorkers, registerWorker } from './workers.ts'

export async function openSqlite(settings: WorkerSettings, host: StoreHost): Promise<MessageStore> {
  let thread = startThread(settings, host)
  const opened = await thread.opened
  const latestMs = typeof opened === 'number' ? opened : undefined
  const trusted = createTrustedTime(latestMs, host.elapsedMs)
  // A process that never claims is not a worker.
  const life = host.claims ? await registerWorker(settings.workersFolder) : undefined
  let isClosed = false

  /** Restarts a thread that ended unexpectedly, for example out of memory, without a restart of the process. */
  function running(): typeof thread {
    if (!thread.isAlive) thread = startThread({ ...settings, worker: life?.worker }, host)
    return thread
  }

  /** A call of the other thread, which answers with the result of the call. */
  async function call<Name extends CallName>(
    name: Name,
    args: Parameters<Calls[Name]>,
    deferrable = false,
  ): Promise<ReturnType<Calls[Name]>> {
    if (isClosed) throw new MessagingWebhooksError('receiver_closed')
    return (await running().ask(name, args, deferrable)) as ReturnType<Calls[Name]>
  }

  function catchUpTo(untilMs: number): Promise<void> {
    return catchUp(
      {
        dueBy: async (nowMs, limit, exclude) =>
          (
            await call('due', [
              { of: 'events', limit, exclude },
              { ...times(), nowMs },
            ])
          ).keys,
        run: (commands) => call('run', [packCommands(commands), times()]) as Promise<readonly boolean[]>,
      },
      untilMs,
    )
  }

  function times(): Times {
    const nowMs = host.nowMs()
    return { nowMs, trustedMs: trusted.ofNow(nowMs) }
  }

  try {
    if (life !== undefined) await call('enter', [life.worker])
    if (latestMs !== undefined && latestMs > host.nowMs() + MAX_APART_MS) await catchUpTo(latestMs)
  } catch (error) {
    await thread.end()
    await life?.end()
    throw error
  }
  return {
    async run<C extends Command>(commands: readonly C[], deferrable?: boolean) {
      // The other thread answers each command in order.
      const answers = (await call('run', [packCommands(commands), times()], deferrable)) as readonly AnswerOf<C>[]
      return commands.some(({ do: name }) => name === 'lease') ? answers.map(withBuffers) : answers
    },
    due: (request) => call('due', [request, times()]),
    async scan<Q extends Query>(query: Q) {
      // A page of the list that was asked for.
      const page = (await call('scan', [query])) as Page<ItemOf<Q>>
      return { ...page, items: page.items.map(withBuffers) }
    },
    counts: () => call('counts', []),
    compact: () => call('compact', []),
    workers: async () => livingWorkers(settings.workersFolder, await call('workers', []), life?.worker.name),
    async close() {
      if (isClosed) return
      try {
        // Leases of a thread that has ended are released too.
        if (thread.isAlive || life !== undefined) await call('close', [])
      } finally {
        isClosed = true
        await thread.end()
      }
      // If closing failed, other processes still see this worker, and release its leases when the process ends.
      await life?.end()
    },
  }
}

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

/** Each call resolves to its answer, or rejects with the error that ended the thread. */
function startThread(settings: WorkerSettings, { onWork, report }: Pick<StoreHost, 'onWork' | 'report'>) {
  const worker = new Worker(workerFile(), {
    workerData: settings,
    name: 'messaging-webhooks sqlite',
  })
  let lastNumber = OPENED
  const waiting = new Map<number, Record<'resolve' | 'reject', (value: unknown) => void>>()
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
    ask(call: CallName, args: readonly unknown[], deferrable: boolean): Promise<unknown> {
      if (!thread.isAlive) return Promise.reject(ended())
      return new Promise((resolve, reject) => {
        const number = (lastNumber += 1)
        // Keeps the process alive only while calls are pending.
        if (waiting.size === 0) worker.ref()
        waiting.set(number, { resolve, reject })
        toSend.push({ number, call, args })
        // A deferred settlement goes with the next call: a message and a transaction cost more than most calls.
        if (deferrable) cancelSending ??= clock.setTimer(send, DEFER_MS, true)
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
