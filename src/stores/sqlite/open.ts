/**
 * The main thread's side of the worker: the calls into it, and the verbs of the contract as promises. Each call gets its
 * answer, or the error that ended the thread.
 *
 * Why a thread: with 32 connections against one file, FULL, in one run, the thread took 1.6 to 2.9 times as many callbacks
 * as group commit on the main thread did, at 0.5 to 0.7 of its p99; the event loop's p99 delay fell to about a tenth.
 */
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type {
  ClaimResult,
  KeptEvent,
  OpenStore,
  Page,
  StoredDeadLetter,
  StoredEvent,
  StoreHost,
} from '../../inbox/store.ts'
import type { EventPlace } from '../../inbox/record-store.ts'
import { withClaims, type AdmittedAndLeased } from '../leasable.ts'
import { asBuffer, packEvents, withBuffer } from './encoding.ts'
import {
  REPORT,
  WORK_CAME,
  type OurError,
  type Reply,
  type Request,
  type Verb,
  type WorkerSettings,
} from './protocol.ts'
import type { ListedHolder } from './holders.ts'
import { livingHolders, showLife } from './sharing.ts'
import { ended, startThread, type Thread } from './thread.ts'

/** How long a lazy call waits for another one to go with. */
const LAZY_MS = 5
/** The machine's own, whatever clock the receiver has: nothing here is put off until a test moves on. */
const clock = systemClock()

/** Who hears what the thread says of itself. */
type Host = Required<Pick<StoreHost, 'onWork' | 'report'>>

function answered({ worker, pending }: Thread, { onWork, report }: Host, replies: readonly Reply[]): void {
  for (const reply of replies) {
    const place = pending.findIndex(({ number }) => number === reply.number)
    const [waiting] = place === -1 ? [] : pending.splice(place, 1)
    if (pending.length === 0) worker.unref()
    if (!reply.ok) waiting?.reject(reply.ours === undefined ? reply.error : asOurs(reply.ours, { cause: reply.error }))
    else if (reply.number === WORK_CAME) onWork()
    else if (reply.number === REPORT) report(asOurs(reply.value as OurError))
    else waiting?.resolve(reply.value)
  }
}

interface How {
  /** A buffer that is handed over and not copied. */
  readonly transfer?: ArrayBuffer
  /** Asks with the next call, or soon: a message to the thread, and a transaction in it, cost more than most calls. */
  readonly lazily?: boolean
}

const AT_ONCE: How = {}

function post(thread: Thread, verb: Verb, args: readonly unknown[], { transfer, lazily } = AT_ONCE): Promise<unknown> {
  if (!thread.isAlive) return Promise.reject(ended())
  return new Promise((resolve, reject) => {
    const { worker, pending, putOff } = thread
    const number = (thread.lastNumber += 1)
    // An idle store keeps no process alive; one that is asked something does.
    if (pending.length === 0) worker.ref()
    pending.push({ number, resolve, reject })
    const request = { number, verb, args }
    if (lazily === true) {
      putOff.push(request)
      thread.cancelSending ??= clock.setTimer(() => worker.postMessage(takePutOff(thread)), LAZY_MS, true)
    } else {
      const requests = putOff.length === 0 ? [request] : [...takePutOff(thread), request]
      worker.postMessage(requests, transfer && [transfer])
    }
  })
}

function takePutOff(thread: Thread): readonly Request[] {
  const { putOff } = thread
  thread.putOff = []
  thread.cancelSending?.()
  thread.cancelSending = undefined
  return putOff
}

function asOurs({ code, detail }: OurError, options?: ErrorOptions): MessagingWebhooksError {
  return new MessagingWebhooksError(code, detail, options)
}

export async function openSqlite(settings: WorkerSettings, host: Host): Promise<OpenStore> {
  const start = (): ReturnType<typeof startThread> =>
    startThread(settings, (from, replies) => answered(from, host, replies))
  const first = start()
  const opened = await first.opened
  let { thread } = first
  let restarting: Promise<Thread> | undefined
  let closed = false
  const life = settings.claims ? await showLife(settings.holdersFolder) : undefined

  /** A claim was lost with the thread, and nobody knows what it leased. */
  let hasLostClaim = false
  /** Of admissions that leased, and whose answer was lost with the thread. */
  let lost: readonly { readonly places: readonly EventPlace[]; readonly nowMs: number }[] = []

  async function holdIn(started: Thread): Promise<Thread> {
    try {
      if (life !== undefined)
        await post(started, 'hold', [{ name: life.name, process: life.process, sinceMs: life.sinceMs }])
      const known = lost
      const last = known.at(-1)
      if (last !== undefined) await post(started, 'takeBack', [known.flatMap(({ places }) => places), last.nowMs])
      lost = lost.slice(known.length)
      return started
    } catch (error) {
      await started.worker.terminate()
      throw error
    }
  }

  /** A thread that ended by itself (out of memory, say) is an outage, and no reason to need a restart of the process. */
  async function restart(): Promise<Thread> {
    try {
      const started = start()
      await started.opened
      thread = await holdIn(started.thread)
      return thread
    } finally {
      restarting = undefined
    }
  }

  // What comes back is what engine.ts, of the same contract, returned in the other thread.
  function ask<T>(verb: Verb, args: readonly unknown[], how?: How): Promise<T> {
    if (closed) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    if (thread.isAlive) return post(thread, verb, args, how) as Promise<T>
    restarting ??= restart()
    return restarting.then((running) => post(running, verb, args, how)) as Promise<T>
  }

  try {
    await holdIn(thread)
  } catch (error) {
    await life?.end()
    throw error
  }
  return {
    latestNowMs: typeof opened === 'number' ? opened : undefined,
    admit(events, nowMs) {
      const packed = packEvents(events)
      return ask('admit', [packed, nowMs], { transfer: packed.bytes })
    },
    async admitAndClaim(events, request) {
      const packed = packEvents(events)
      const asked = thread
      try {
        const how = { transfer: packed.bytes }
        return withClaims(events, await ask<AdmittedAndLeased>('admitAndClaim', [packed, request], how))
      } catch (error) {
        if (!asked.isAlive)
          lost = [
            ...lost,
            { places: events.map(({ id, messageKey }) => ({ key: messageKey, id })), nowMs: request.nowMs },
          ]
        throw error
      }
    },
    async claim(request) {
      const asked = thread
      try {
        if (hasLostClaim && life !== undefined) {
          // What is leased and not in hand is what that claim had.
          await ask('takeBackAllBut', [request.exclude, life.name])
          hasLostClaim = false
        }
        const { claims, nextDueMs } = await ask<ClaimResult>('claim', [request])
        return { claims: claims.map(withBuffer), nextDueMs }
      } catch (error) {
        if (!asked.isAlive) hasLostClaim = true
        throw error
      }
    },
    settle: (settlements, nowMs, lazily = false) => ask('settle', [settlements, nowMs], { lazily }),
    latest: (messageKey) => ask('latest', [messageKey]),
    async deadLetters(page) {
      const { items, ...rest } = await ask<Page<StoredDeadLetter>>('deadLetters', [page])
      return { items: items.map(withBuffer), ...rest }
    },
    async events(page) {
      const { items, ...rest } = await ask<Page<StoredEvent>>('events', [page])
      return { items: items.map((item) => ({ ...item, raw: item.raw && asBuffer(item.raw) })), ...rest }
    },
    expect: (messages, nowMs) => ask('expect', [messages, nowMs]),
    overdue: (page) => ask('overdue', [page]),
    admitOverdue(events, nowMs) {
      const packed = packEvents(events)
      return ask('admitOverdue', [packed, nowMs], { transfer: packed.bytes })
    },
    awaitNoMore: (ended, nowMs) => ask('awaitNoMore', [ended, nowMs]),
    expectations: (page) => ask('expectations', [page]),
    sentTo: (page) => ask('sentTo', [page]),
    resolve: (id, resolution, nowMs) => ask('resolve', [id, resolution, nowMs]),
    prune: (nowMs) => ask('prune', [nowMs]),
    async kept(page) {
      const { items, ...rest } = await ask<Page<KeptEvent>>('kept', [page])
      return { items: items.map((item) => ({ ...item, raw: item.raw && asBuffer(item.raw) })), ...rest }
    },
    forget: (request, nowMs) => ask('forget', [request, nowMs]),
    eraseTraces: () => ask('eraseTraces', []),
    counts: () => ask('counts', []),
    holders: async () =>
      livingHolders(settings.holdersFolder, await ask<readonly ListedHolder[]>('listedHolders', []), life?.name),
    async close() {
      if (closed) return
      closed = true
      await restarting?.catch(() => {})
      try {
        // What was leased in a thread that has ended is given back, too.
        if (!thread.isAlive && life !== undefined) await restart()
        if (thread.isAlive) await post(thread, 'close', [])
      } finally {
        await thread.worker.terminate()
      }
      // Where closing failed, others still know us by this name, and give out again what we had when the process ends.
      await life?.end()
    },
  }
}
