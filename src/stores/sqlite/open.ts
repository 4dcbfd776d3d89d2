/**
 * The main thread's side of the worker: the verbs of the contract as promises.
 *
 * Why a thread: with 32 connections against one file, FULL, in one run, the thread took 1.6 to 2.9 times as many callbacks
 * as group commit on the main thread did, at 0.5 to 0.7 of its p99; the event loop's p99 delay fell to about a tenth.
 */
import { MessagingWebhooksError } from '../../errors.ts'
import type { ClaimResult, OpenStore, Page, StoredDeadLetter, StoredEvent } from '../../inbox/store.ts'
import { withClaims, type AdmittedAndLeased } from '../leasable.ts'
import { startCalls, type Calls, type CallsHost } from './calls.ts'
import { packEvents } from './encoding.ts'
import type { WorkerSettings } from './protocol.ts'
import { showLife } from './sharing.ts'

export async function openSqlite(settings: WorkerSettings, host: CallsHost): Promise<OpenStore> {
  let calls = await startCalls(settings, host)
  let restarting: Promise<Calls> | undefined
  let closed = false
  const latestNowMs = calls.opened
  const life = await showLife(settings.holdersFolder)

  /** A claim was lost with the thread, and nobody knows what it leased. */
  let hasLostClaim = false
  /** Of admissions that leased, and whose answer was lost with the thread. */
  let lost: readonly { readonly ids: readonly string[]; readonly nowMs: number }[] = []

  async function holdIn(started: Calls): Promise<Calls> {
    try {
      if (life !== undefined) await started.call('hold', [life.name])
      const known = lost
      const last = known.at(-1)
      if (last !== undefined) await started.call('takeBack', [known.flatMap(({ ids }) => ids), last.nowMs])
      lost = lost.slice(known.length)
      return started
    } catch (error) {
      await started.terminate()
      throw error
    }
  }

  /** A thread that ended by itself (out of memory, say) is an outage, and no reason to need a restart of the process. */
  async function restart(): Promise<Calls> {
    try {
      calls = await holdIn(await startCalls(settings, host))
      return calls
    } finally {
      restarting = undefined
    }
  }

  function call(...input: Parameters<Calls['call']>): Promise<unknown> {
    if (closed) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    if (calls.alive) return calls.call(...input)
    restarting ??= restart()
    return restarting.then((running) => running.call(...input))
  }

  try {
    await holdIn(calls)
  } catch (error) {
    await life?.end()
    throw error
  }
  // What comes back is what engine.ts, of the same contract, returned in the other thread.
  const ask = call as <T>(...input: Parameters<typeof call>) => Promise<T>
  return {
    latestNowMs: typeof latestNowMs === 'number' ? latestNowMs : undefined,
    admit(events, nowMs) {
      const packed = packEvents(events)
      return ask('admit', [packed, nowMs], { transfer: [packed.bytes] })
    },
    async admitAndClaim(events, request) {
      const packed = packEvents(events)
      const asked = calls
      try {
        const how = { transfer: [packed.bytes] }
        return withClaims(events, await ask<AdmittedAndLeased>('admitAndClaim', [packed, request], how))
      } catch (error) {
        if (!asked.alive) lost = [...lost, { ids: events.map(({ id }) => id), nowMs: request.nowMs }]
        throw error
      }
    },
    async claim(request) {
      const asked = calls
      try {
        if (hasLostClaim && life !== undefined) {
          // What is leased and not in hand is what that claim had.
          await ask('takeBackAllBut', [request.exclude, life.name, request.nowMs])
          hasLostClaim = false
        }
        const { claims, nextDueMs } = await ask<ClaimResult>('claim', [request])
        return { claims: claims.map(withBuffer), nextDueMs }
      } catch (error) {
        if (!asked.alive) hasLostClaim = true
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
    resolve: (id, resolution, nowMs) => ask('resolve', [id, resolution, nowMs]),
    prune: (nowMs) => ask('prune', [nowMs]),
    counts: () => ask('counts', []),
    async close() {
      if (closed) return
      closed = true
      await restarting?.catch(() => {})
      try {
        if (calls.alive) await calls.call('close', [])
      } finally {
        await calls.terminate()
      }
      // Where closing failed, others still know us by this name: we must look alive as long as handlers may run.
      await life?.end()
    },
  }
}

/** A Buffer comes out of another thread as a plain Uint8Array. */
function withBuffer<T extends { readonly raw: Buffer }>(kept: T): T {
  return { ...kept, raw: asBuffer(kept.raw) }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
