/** Claims events: finds messages that are due, leases their first events, and reads these. */
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Granted, Settle } from '../messages/commands.ts'
import type { EventRecord } from '../messages/event-record.ts'
import type { KnownExpectation } from '../messages/expected.ts'
import type { Awaitable, MessageStore } from '../inbox/store.ts'
import { andThen } from '../runtime/values.ts'

/** An event to dispatch, under a lease. */
export interface Claim {
  readonly id: string
  readonly messageKey: string
  /** Fencing token of the lease. */
  readonly token: number
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly late: boolean
  readonly replay: boolean
  readonly record: EventRecord
  readonly raw: Buffer
  /** The send of its message, if the app recorded one. */
  readonly expected: KnownExpectation | undefined
}

export interface ClaimRequest {
  /** Maximum number of events, each of a different message. */
  readonly limit: number
  readonly leaseForMs: number
  /** Messages with handlers that run or hang in this process. */
  readonly exclude: ReadonlySet<string>
}

interface ClaimWatch {
  /** Runs events as soon as they are leased: nothing else knows of their leases, and looking for more may take long. */
  readonly onLeased: (claims: readonly Claim[]) => void
  readonly report: (error: MessagingWebhooksError) => void
}

/** All events that were leased, for which `onLeased` was called. */
export interface Claimed {
  /** Messages that have been due longest come first. */
  readonly claims: readonly Claim[]
  /** How long until the next event is due. Undefined without one. */
  readonly nextInMs: number | undefined
}

/** Retry delay for a due message that could not be leased. */
const AGAIN_MS = 1_000

export function claimOf(
  messageKey: string,
  { id, token, attempt, late, replay, expected }: Granted,
  { record, raw }: Pick<Claim, 'record' | 'raw'>,
): Claim {
  return { id, messageKey, token, attempt, late, replay, record, raw, expected }
}

/** Synchronous if the store is. */
export function claimDue(
  store: MessageStore<object>,
  request: ClaimRequest,
  { onLeased, report }: ClaimWatch,
): Awaitable<Claimed> {
  const { limit, leaseForMs, exclude } = request
  const claims: Claim[] = []

  /** Looks for each message once: one that cannot be leased causes no loop, and is not reserved again for this process. */
  function claimMore(tried: readonly string[]): Awaitable<Claimed> {
    const most = limit - claims.length
    const others = tried.length === 0 ? exclude : new Set([...exclude, ...tried])
    return andThen(store.due({ of: 'events', limit: most, exclude: others }), ({ keys, nextInMs }) => {
      if (keys.length === 0) {
        const triedMs = tried.length > claims.length ? AGAIN_MS : undefined
        return { claims, nextInMs: earlier(earlier(nextInMs, triedMs), claims.length > 0 ? leaseForMs : undefined) }
      }
      return andThen(leaseAll(keys), (leased) => {
        claims.push(...leased)
        // If every due event was leased, no other is due. Otherwise a lease may have freed the next one.
        const isAll = keys.length < most && leased.length === keys.length && nextInMs !== 0
        if (claims.length === limit || isAll) return { claims, nextInMs: earlier(nextInMs, leaseForMs) }
        const more = claimMore([...tried, ...keys])
        // The next claim meets the failure again.
        return claims.length > 0 && more instanceof Promise ? more.catch(() => ({ claims, nextInMs: 0 })) : more
      })
    })
  }

  function leaseAll(keys: readonly string[]): Awaitable<readonly Claim[]> {
    const commands = keys.map((key) => ({ do: 'lease' as const, key, forMs: leaseForMs }))
    return andThen(store.run(commands), (answers) => {
      const leased: Claim[] = []
      const unreadable: Settle[] = []
      for (const [index, granted] of answers.entries()) {
        const key = keys[index]
        if (granted === undefined || key === undefined) continue
        const { payload } = granted
        if (payload === undefined || payload.isUnreadable === true) unreadable.push(withoutPayload(key, granted))
        else leased.push(claimOf(key, granted, payload))
      }
      onLeased(leased)
      return unreadable.length === 0 ? leased : andThen(store.run(unreadable), () => leased)
    })
  }

  /** An event without a readable payload becomes a dead letter. So does an unreadable record (`unreadableRecord`). */
  function withoutPayload(key: string, { id, token }: Granted): Settle {
    const part = id === key ? `The record of message ${key}.` : `Event ${id} of message ${key}.`
    const error = new MessagingWebhooksError('event_damaged', part)
    report(error)
    return { do: 'settle', key, id, token, outcome: 'dead', error: error.message }
  }

  return claimMore([])
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}
