/** The network between a process and its store: slow or lost requests and answers, and an unavailable store. */
import { MessagingWebhooksError } from '../../src/public/errors.ts'
import type { MessageStore } from '../../src/inbox/store.ts'
import type { Command } from '../../src/messages/commands.ts'
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
  /** Whether calls arrive in the order in which they were made. */
  readonly isInOrder: boolean
  readonly ledger: Pick<Ledger, 'stripped'>
  readonly faults: NetworkFaults
  /** This process admitted an event; others may be notified. */
  readonly admitted: (by: Owner) => void
}

/** Owns work of the network, which continues after a process has ended. */
const NETWORK: Owner = { name: 'network', alive: true, stoppedUntilMs: 0 }

/** The store as one process has it. */
type Connect = (store: MessageStore, owner: Owner, random: Random) => MessageStore

export function createNetwork(options: NetworkOptions): Connect {
  const { timeline, isInOrder, ledger, faults } = options

  let lastMs = 0
  function arrival(inMs: number): number {
    if (!isInOrder) return inMs
    lastMs = Math.max(lastMs, timeline.nowMs + inMs)
    return lastMs - timeline.nowMs
  }

  function checkPoison(commands: readonly Command[]): void {
    const events = commands.flatMap((command) => (command.do === 'admit' ? [command.event] : []))
    for (const { id, record } of events) {
      const kind = faults.poison.get(id)
      if (kind === 'hard' || (kind === 'soft' && record.problem !== 'store_refused')) throw new Error('poison')
    }
    for (const { id, record } of events) if (record.problem === 'store_refused') ledger.stripped(id)
  }

  return (store, owner, random) => {
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

    return {
      run: (commands) =>
        call(commands[0]?.do ?? 'nothing', async () => {
          checkPoison(commands)
          const answers = await store.run(commands)
          if (commands.some(makesDue)) options.admitted(owner)
          return answers
        }),
      due: (request) => call(`due ${request.of}`, async () => store.due(request)),
      scan: (query) => call(`list ${query.of}`, async () => store.scan(query)),
      counts: () => call('counts', async () => store.counts()),
      async close() {
        closed = true
        await store.close()
      },
    }
  }
}

function makesDue({ do: name }: Command): boolean {
  return name === 'admit' || name === 'resolve'
}
