/** A receiver without a middleware, in a process of its own: dispatches a backlog each time it is asked. */
import { createReceiver } from 'messaging-webhooks'
import type { MessageStore, StoreHost } from 'messaging-webhooks/store'
import { admit } from '../../src/store-conformance/samples.ts'
import { openAlone } from '../database/calls.ts'
import { AT_ONCE, newEvents } from '../contenders/new-events.ts'
import { STORES, type StoreName } from '../contenders/stores.ts'
import { answerQuestions } from '../processes/asking.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../load/secrets.ts'

export type DispatchQuestion =
  /** Admits this many events to a store of their own. */
  | { readonly admit: number }
  /** Dispatches all of them. */
  | { readonly dispatch: true }
  /** Removes the store, if there is one. */
  | { readonly remove: true }

export interface Admitted {
  readonly admitted: number
}

export interface Removed {
  readonly removed: true
}

export interface Dispatched {
  /** Time per event, from the start to the last handler. */
  readonly microseconds: number
  /** CPU time per event, until the last one was settled. */
  readonly cpuMicroseconds: number
}

interface Backlog {
  readonly count: number
  readonly made: Awaited<ReturnType<(typeof STORES)[StoreName]['make']>>
  readonly opened: MessageStore<object>
  /** The receiver, once it takes over from the code that admitted the events. */
  receiver: StoreHost | undefined
  close: () => Promise<void>
}

const SETTLE_MS = 300_000

const [storeName, concurrency] = process.argv.slice(2)
let backlog: Backlog | undefined

answerQuestions(async (asked): Promise<Admitted | Dispatched | Removed> => {
  // Only the program `dispatch` asks questions.
  const question = asked as DispatchQuestion
  if ('admit' in question) {
    backlog = await admitted(question.admit)
    return { admitted: backlog.count }
  }
  if ('remove' in question) {
    await backlog?.close()
    await backlog?.made.close({ remove: true })
    backlog = undefined
    return { removed: true }
  }
  if (backlog === undefined) throw new Error('No events were admitted.')
  return dispatch(backlog)
})

async function admitted(count: number): Promise<Backlog> {
  // The parent takes the name from the same table.
  const made = await STORES[storeName as StoreName].make()
  const opened = await openAlone(made.store, {
    onWork: () => result.receiver?.onWork(),
    onLost: (isAmong) => result.receiver?.onLost(isAmong),
    inFlight: (messageKey) => result.receiver?.inFlight(messageKey),
  })
  const result: Backlog = { count, made, opened, receiver: undefined, close: async () => opened.close() }
  for (let left = count; left > 0; left -= AT_ONCE) await admit(opened, newEvents(Math.min(left, AT_ONCE), Date.now()))
  const { unsettled } = await opened.counts()
  if (unsettled !== count) throw new Error(`${unsettled} of ${count} events were admitted.`)
  return result
}

async function dispatch(from: Backlog): Promise<Dispatched> {
  const { opened, made, count } = from
  let handled = 0
  let lastAtMs = 0
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
    store: {
      ...made.store,
      open(host) {
        from.receiver = host
        return opened
      },
    },
    concurrency: Number(concurrency),
    logger: false,
  })
  from.close = async () => {
    await receiver.close({ deadlineMs: 1_000 })
  }
  receiver.on('message.*', () => {
    handled += 1
    if (handled === count) lastAtMs = performance.now()
  })
  globalThis.gc?.()
  const cpuBefore = process.cpuUsage()
  const startedAtMs = performance.now()
  await receiver.start()
  const isDone = await receiver.drain({ deadlineMs: SETTLE_MS })
  const { user, system } = process.cpuUsage(cpuBefore)
  if (!isDone || handled !== count) throw new Error(`${storeName}: handlers got ${handled} of ${count} events.`)
  return {
    microseconds: ((lastAtMs - startedAtMs) * 1_000) / count,
    cpuMicroseconds: (user + system) / count,
  }
}
