/** Claims due events: writes leases, and reads payloads at the same time. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import { lease, type Leased, type LeaseRequest } from '../../messages/events.ts'
import type { Decision, Entry } from '../../messages/record.ts'
import type { EventPlace, Indexes, LikelyEvent, Payload } from '../record-store.ts'
import type { Awaitable, Claim, OpenStore } from '../store.ts'
import { andThen, claimOf, ifFails, settlementCommand, type Command, type Runner } from './commands.ts'

export interface ClaimingOptions {
  readonly runner: Runner
  readonly indexes: Indexes
  /**
   * The worker name for a lease of this record. Undefined if this process may not lease it now. Absent if no other process
   * shares the store.
   */
  readonly worker?: ((recordKey: string) => string | undefined) | undefined
  readonly report: (error: MessagingWebhooksError) => void
}

/** Retry delay for a due record that could not be leased. */
const TRY_AGAIN_MS = 1_000

const NOTHING_LEFT = 'nothing that can be read'

const NONE_LIKELY: readonly never[] = []
const NO_PAYLOADS: readonly never[] = []
const NO_KEYS: ReadonlySet<string> = new Set()

export function createClaim(options: ClaimingOptions): OpenStore['claim'] {
  const { runner, indexes, worker, report } = options

  function leaseAll(
    keys: readonly string[],
    request: Omit<LeaseRequest, 'worker'>,
    likely: readonly LikelyEvent[] = NONE_LIKELY,
  ): Awaitable<readonly Claim[]> {
    // The lease that follows proves that no one has erased the payload meanwhile.
    const unread = likely.filter(({ payload }) => payload === undefined)
    const early = unread.length === 0 ? NO_PAYLOADS : indexes.payloads(unread)
    // Prevents an unhandled rejection if the lease fails first.
    if (early instanceof Promise) early.catch(() => {})
    const commands = keys.map((key) => leaseCommand(key, request, worker === undefined ? '' : worker(key)))
    return andThen(runner.run(commands), (answers) => {
      const leased = answers.flatMap((one, index) => {
        const key = keys[index]
        return one === undefined || key === undefined ? [] : [{ ...one, key, id: one.entry.id }]
      })
      const claimed = andThen(early, (read) =>
        andThen(payloadsOf(leased, [...likely.map(({ payload }) => payload), ...read]), (payloads) => {
          const claims: Claim[] = []
          const later: Command<boolean>[] = []
          for (const [index, one] of leased.entries()) {
            const payload = payloads[index]
            if (payload !== undefined && payload.corrupt === undefined) claims.push(claimOf(one.key, one, payload))
            else later.push(deadLetterCommand(one.key, one.entry, payload?.corrupt, request.nowMs))
          }
          return later.length === 0 ? claims : andThen(runner.run(later), () => claims)
        }),
      )
      return ifFails(claimed, () => runner.abandon?.(leased))
    })
  }

  /** Reads the payloads that are not known yet. */
  function payloadsOf(
    leased: readonly EventPlace[],
    known: readonly (Payload | undefined)[],
  ): Awaitable<readonly (Payload | undefined)[]> {
    if (known.length === 0) return indexes.payloads(leased)
    const byId = new Map(known.map((payload) => [payload?.id, payload]))
    const missing = leased.filter(({ id }) => !byId.has(id))
    if (missing.length === 0) return leased.map(({ id }) => byId.get(id))
    return andThen(indexes.payloads(missing), (others) => {
      for (const [index, { id }] of missing.entries()) byId.set(id, others[index])
      return leased.map(({ id }) => byId.get(id))
    })
  }

  /**
   * An event without a readable payload becomes a dead letter for a person. So does an unreadable record (`unreadableRecord`).
   */
  function deadLetterCommand(
    key: string,
    { id, token }: Entry,
    corrupt: string | undefined,
    nowMs: number,
  ): Command<boolean> {
    const error = new MessagingWebhooksError(
      'event_damaged',
      `Event ${id} of message ${key}: ${corrupt ?? NOTHING_LEFT}.`,
    )
    report(error)
    return settlementCommand({ id, messageKey: key, token, outcome: 'dead', error: error.message }, nowMs)
  }

  return ({ limit, nowMs, leaseUntilMs, exclude }) => {
    const claims: Claim[] = []
    function claimMore(tried: ReadonlySet<string>): ReturnType<OpenStore['claim']> {
      const most = limit - claims.length
      return andThen(indexes.due({ limit: most, nowMs, exclude }), ({ keys, nextDueMs, likely }) => {
        // Try each key once, so that a record that cannot be leased does not cause a loop.
        const left = keys.filter((key) => !tried.has(key))
        if (left.length === 0) {
          const triedUntilMs = keys.length > 0 ? nowMs + TRY_AGAIN_MS : undefined
          const heldUntilMs = claims.length > 0 ? leaseUntilMs : undefined
          return { claims, nextDueMs: earlier(earlier(nextDueMs, triedUntilMs), heldUntilMs) }
        }
        return andThen(leaseAll(left, { nowMs, untilMs: leaseUntilMs }, likely), (leased) => {
          claims.push(...leased)
          // If every due event was leased, no other is due. Otherwise a lease may have freed the next one.
          const isMoreDue = nextDueMs !== undefined && nextDueMs <= nowMs
          const isAll = keys.length < most && leased.length === keys.length && !isMoreDue
          if (claims.length < limit && !isAll) {
            const more = claimMore(new Set([...tried, ...left]))
            // Return the events leased so far. The next claim meets the failure again.
            return claims.length > 0 && more instanceof Promise
              ? more.catch(() => ({ claims, nextDueMs: nowMs }))
              : more
          }
          return { claims, nextDueMs: earlier(nextDueMs, leaseUntilMs) }
        })
      })
    }
    return claimMore(NO_KEYS)
  }
}

function leaseCommand(
  key: string,
  request: Omit<LeaseRequest, 'worker'>,
  worker: string | undefined,
): Command<Leased | undefined> {
  return {
    key,
    decide(record): Decision<Leased | undefined> {
      if (worker === undefined) return { answer: undefined }
      const { answer: entry, ...decided } = lease(record, { ...request, worker })
      const granted = decided.record?.lease
      return { ...decided, answer: entry && granted && { entry, lease: granted, send: record?.send } }
    },
  }
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}
