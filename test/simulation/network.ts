/** The network between a process and its store: slow or lost requests and answers, and an unavailable store. */
import { MessagingWebhooksError } from '../../src/public/errors.ts'
import type { NewEvent } from '../../src/messages/event-record.ts'
import type { MessageStore } from '../../src/inbox/store.ts'
import type { Engine } from './engine.ts'
import type { Ledger } from './ledger.ts'
import { between, oneOf, type Random } from './random.ts'
import type { Owner, Timeline } from './timeline.ts'

export interface NetworkFaults {
  /** The store does not answer. */
  isUnavailable: boolean
  /** Maximum extra delay in each direction. */
  slowMs: number
  /** The share of calls whose request, or only whose answer, is lost. */
  lossy: number
  /** Events that the store rejects in a batch; `hard`: in any form, otherwise only with their meaning. */
  readonly poison: Map<string, 'soft' | 'hard'>
}

const SILENT_MS = 30_000

interface NetworkOptions {
  readonly timeline: Timeline
  readonly engine: Engine
  readonly ledger: Ledger
  readonly faults: NetworkFaults
  /** This process admitted an event; others may be notified. */
  readonly admitted: (by: Owner) => void
}

/** Owns work of the network, which continues after a process has ended. */
const NETWORK: Owner = { name: 'network', alive: true, stoppedUntilMs: 0 }

/** The store as one process has it. */
type Connect = (owner: Owner, random: Random) => MessageStore

export function createNetwork(options: NetworkOptions): Connect {
  const { timeline, engine, ledger, faults } = options
  const { store } = engine

  let lastMs = 0
  function arrival(inMs: number): number {
    if (engine.isInOrder !== true) return inMs
    lastMs = Math.max(lastMs, timeline.nowMs + inMs)
    return lastMs - timeline.nowMs
  }

  function checkPoison(events: readonly NewEvent[]): void {
    for (const { id, record } of events) {
      const kind = faults.poison.get(id)
      if (kind === 'hard' || (kind === 'soft' && record.problem !== 'store_refused')) throw new Error('poison')
    }
    for (const { id, record } of events) if (record.problem === 'store_refused') ledger.stripped(id)
  }

  return (owner, random) => {
    let closed = false

    function later(work: () => void): void {
      timeline.after(between(random, 0.05, 1) + random() * faults.slowMs, owner, 'answer', work)
    }

    function call<T>(verb: string, work: () => Promise<T>): Promise<T> {
      const fate = random() < faults.lossy ? oneOf(random, ['request lost', 'answer lost']) : 'ok'
      const isSilent = random() < 0.5
      if (closed) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
      return new Promise((resolve, reject) => {
        const fail = (error: Error): void => later(() => reject(error))
        // The system eventually closes a silent connection.
        const lose = (): void => {
          const cut = (): void => reject(new MessagingWebhooksError('store_failed', 'The connection was cut.'))
          timeline.after(isSilent ? SILENT_MS : between(random, 0.05, 1), owner, 'cut', cut)
        }
        const thereMs = arrival(between(random, 0.05, 1) + random() * faults.slowMs)
        timeline.after(thereMs, NETWORK, verb, async () => {
          if (faults.isUnavailable || fate === 'request lost') {
            lose()
            return
          }
          try {
            const answer = await work()
            if (fate === 'ok') later(() => resolve(answer))
            else lose()
          } catch (error) {
            fail(error instanceof Error ? error : new Error('not an error'))
          }
        })
      })
    }

    const { admitAndClaim } = store
    return {
      get latestNowMs() {
        return store.latestNowMs
      },
      admit: (events, nowMs) =>
        call('admit', async () => {
          checkPoison(events)
          const admissions = await store.admit(events, nowMs)
          timeline.note(`admitted ${said(events, admissions)}`)
          ledger.admitted(events, nowMs, admissions)
          if (events.length > 0) options.admitted(owner)
          return admissions
        }),
      ...(admitAndClaim === undefined
        ? undefined
        : {
            admitAndClaim: (events, request) =>
              call('admit and claim', async () => {
                checkPoison(events)
                const result = await admitAndClaim(events, request)
                timeline.note(`admitted ${said(events, result.admissions)}`)
                ledger.admittedAndClaimed(events, request, result)
                options.admitted(owner)
                return result
              }),
          }),
      claim: (request) =>
        call('claim', async () => {
          const result = await store.claim(request)
          const { nowMs, leaseUntilMs } = request
          timeline.note(
            `claimed ${nowMs}-${leaseUntilMs} ${result.claims.map(({ id, token }) => `${id.slice(0, 6)} ${token}`).join(', ')}`,
          )
          ledger.claimed(request, result)
          return result
        }),
      settle: (settlements, nowMs) =>
        call('settle', async () => {
          const answers = await store.settle(settlements, nowMs)
          for (const { id, outcome, token } of settlements)
            timeline.note(`settled ${id.slice(0, 6)} ${token} ${outcome}`)
          ledger.settled(settlements, nowMs, answers)
          return answers
        }),
      latest: (messageKey) => call('latest', async () => store.latest(messageKey)),
      deadLetters: (page) => call('dead letters', async () => store.deadLetters(page)),
      events: (page) => call('events', async () => store.events(page)),
      kept: (page) => call('kept', async () => store.kept(page)),
      forget: (request, nowMs) => call('forget', async () => store.forget(request, nowMs)),
      resolve: (id, resolution, nowMs) =>
        call('resolve', async () => {
          const found = await store.resolve(id, resolution, nowMs)
          ledger.replayed(id, nowMs, found)
          options.admitted(owner)
          return found
        }),
      prune: (nowMs) => call('prune', async () => store.prune(nowMs)),
      counts: () => call('counts', async () => store.counts()),
      close() {
        closed = true
      },
    }
  }
}

function said(events: readonly NewEvent[], admissions: readonly string[]): string {
  return events.map(({ id }, index) => `${id.slice(0, 6)} ${admissions[index] ?? 'nothing'}`).join(', ')
}
