/** Starts a thread that owns an SQLite connection, and sends it calls. */
import { existsSync } from 'node:fs'
import { MessageChannel, Worker } from 'node:worker_threads'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import { systemClock } from '../runtime/clock.ts'
import { systemCode } from '../runtime/values.ts'
import { OPENED, receiveError, type Reply, type Request, type ThreadData } from './messages.ts'

/** How long a deferred call waits for another one to share its message. */
const DEFER_MS = 5
/** The system clock: nothing here waits for a test clock. */
const clock = systemClock()

/**
 * All threads run one file, so that an app that is bundled has to keep only that one. In development TypeScript files run
 * directly; the published package is JavaScript. Throws if a bundler left the file out.
 */
function workerFile(): URL {
  // Some bundlers replace `import.meta.url` with `undefined`.
  const own: unknown = import.meta.url
  const url = typeof own === 'string' ? own : ''
  const file = URL.parse(url.endsWith('.ts') ? './worker.ts' : './worker.js', url)
  if (file === null || !existsSync(file)) throw new MessagingWebhooksError('store_bundled')
  return file
}

const NO_SQLITE = '--no-experimental-sqlite'
/** Yarn's Plug'n'Play: without these files, Node finds no package. */
const PNP_FILE = /\.pnp\.(cjs|loader\.mjs)"?$/

/** The flags that concern the thread. A preload of the app, which may listen on a port, must not run twice. */
function flagsOfThread(flags: readonly string[]): readonly string[] {
  return flags.filter((flag, index) => {
    const isFollowedByPnp = flag.startsWith('-') && PNP_FILE.test(flags[index + 1] ?? '')
    return flag === NO_SQLITE || PNP_FILE.test(flag) || isFollowedByPnp
  })
}

function startWorker(workerData: ThreadData): Worker {
  const options = process.env['NODE_OPTIONS']?.match(/(?:[^\s"]|"[^"]*")+/g) ?? []
  try {
    return new Worker(workerFile(), {
      workerData,
      transferList: [workerData.requests],
      name: `messaging-webhooks ${workerData.serves}`,
      execArgv: [...flagsOfThread(process.execArgv)],
      env: { ...process.env, NODE_OPTIONS: flagsOfThread(options).join(' ') },
    })
  } catch (error) {
    if (systemCode(error) !== 'ERR_ACCESS_DENIED') throw error
    throw new MessagingWebhooksError('store_unsupported', 'Node runs with --permission: pass --allow-worker as well.')
  }
}

export type Thread = ReturnType<typeof startThread>

interface ThreadOptions extends Pick<ThreadData, 'serves' | 'settings'> {
  readonly onNotice: (notice: unknown) => void
  readonly report: (error: MessagingWebhooksError) => void
}

/** Each call resolves to its answer, or rejects with the error that ended the thread. */
export function startThread({ serves, settings, onNotice, report }: ThreadOptions) {
  const { port1: requests, port2 } = new MessageChannel()
  const worker = startWorker({ serves, settings, requests: port2 })
  let lastNumber = OPENED
  const waiting = new Map<number, Record<'resolve' | 'reject', (value: unknown) => void>>()
  let toSend: Request[] = []
  let cancelSending: (() => void) | undefined

  function failAll(error: unknown): void {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  function receive(reply: Reply): void {
    if ('notice' in reply) onNotice(reply.notice)
    else if ('report' in reply) report(asOurs(receiveError(reply.report), 'store_failed'))
    else if (reply.number === OPENED && 'error' in reply) {
      // The thread ends. A call that is made before that gets a new one.
      thread.isAlive = false
      failAll(receiveError(reply.error))
    } else {
      const asked = waiting.get(reply.number)
      waiting.delete(reply.number)
      if (waiting.size === 0) worker.unref()
      if ('error' in reply) asked?.reject(receiveError(reply.error))
      else asked?.resolve(reply.value)
    }
  }

  function send(): void {
    const sent = toSend
    toSend = []
    cancelSending?.()
    cancelSending = undefined
    requests.postMessage(sent)
  }

  worker.on('message', (replies: readonly Reply[] | object) => {
    // With --watch, Node itself posts objects from threads.
    if (Array.isArray(replies)) for (const reply of replies as readonly Reply[]) receive(reply)
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
    ask(call: string, args: readonly unknown[], deferrable = false): Promise<unknown> {
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
  return new MessagingWebhooksError('store_failed', 'The thread of the SQLite file has ended.')
}
