/**
 * The operations of the contract, each answered by the thread that owns the connection.
 *
 * Measured with 32 connections on one file with FULL, in one run: the thread handled 1.6 to 2.9 times as many callbacks as group
 * commit on the main thread, at 0.5 to 0.7 of its p99. The p99 delay of the event loop fell to about a tenth.
 */
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Claim, OpenStore, StoreHost } from '../../inbox/store.ts'
import { packEvents, withBuffer } from './encoding.ts'
import { VERBS, type Calls, type Verb, type WorkerSettings } from './protocol.ts'
import { livingWorkers, registerWorker } from './sharing.ts'
import { startThread } from './thread.ts'

interface Host extends Required<Pick<StoreHost, 'onWork' | 'report'>> {
  /** False if this process never claims. It is then not a worker. */
  readonly claims: boolean
}

/** The calls of the other thread, each with a promise for its result. */
type Remote = { readonly [V in Verb]: (...args: Parameters<Calls[V]>) => Promise<Awaited<ReturnType<Calls[V]>>> }

function remoteOf(ask: (verb: Verb, args: readonly unknown[]) => Promise<unknown>): Remote {
  const calls = VERBS.map((verb) => [verb, (...args: readonly unknown[]) => ask(verb, args)])
  return Object.fromEntries(calls) as Remote
}

export async function openSqlite(settings: WorkerSettings, host: Host): Promise<OpenStore> {
  let thread = startThread(settings, host)
  const opened = await thread.opened
  const life = host.claims ? await registerWorker(settings.workersFolder) : undefined
  let isClosed = false

  /** Restarts a thread that ended unexpectedly, for example out of memory, without a restart of the process. */
  function running(): typeof thread {
    if (!thread.isAlive) thread = startThread({ ...settings, worker: life?.worker }, host)
    return thread
  }

  const { enter, listed, ...remote } = remoteOf((verb, args) =>
    isClosed ? Promise.reject(new MessagingWebhooksError('receiver_closed')) : running().ask(verb, args),
  )

  try {
    if (life !== undefined) await enter(life.worker)
  } catch (error) {
    await thread.end()
    await life?.end()
    throw error
  }
  return {
    ...remote,
    latestNowMs: typeof opened === 'number' ? opened : undefined,
    admit: (events, nowMs) => remote.admit(packEvents(events), nowMs),
    admitOverdue: (events, nowMs) => remote.admitOverdue(packEvents(events), nowMs),
    async admitAndClaim(events, request) {
      const { admissions, leases } = await remote.admitAndClaim(packEvents(events), request)
      const claims = leases.flatMap(([id, token, late, expected]): readonly Claim[] => {
        const event = events.find((one) => one.id === id)
        if (event === undefined) return []
        const { messageKey, record, raw } = event
        const claim = { id, messageKey, token, attempt: 1, late, replay: false, record, raw }
        return [expected === undefined ? claim : { ...claim, expected }]
      })
      return { admissions, claims }
    },
    async claim(request) {
      const { claims, nextDueMs } = await remote.claim(request)
      return { claims: claims.map(withBuffer), nextDueMs }
    },
    deadLetters: async (page) => withBuffers(await remote.deadLetters(page)),
    events: async (page) => withBuffers(await remote.events(page)),
    kept: async (page) => withBuffers(await remote.kept(page)),
    workers: async () => livingWorkers(settings.workersFolder, await listed(), life?.worker.name),
    async close() {
      if (isClosed) return
      isClosed = true
      try {
        // Leases of a thread that has ended are released too.
        if (thread.isAlive || life !== undefined) await running().ask('close', [])
      } finally {
        await thread.end()
      }
      // If closing failed, other processes still see this worker, and release its leases when the process ends.
      await life?.end()
    },
  }
}

function withBuffers<T extends { readonly raw: Buffer | undefined }, P extends { readonly items: readonly T[] }>(
  page: P,
) {
  return { ...page, items: page.items.map(withBuffer) }
}
