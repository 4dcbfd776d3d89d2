/** Claims: asks the store for what is due, as much as there is room for, and runs what it gives. */
import type { Clock } from '../clock.ts'
import { inStoreTime } from '../inbox/in-store-time.ts'
import type { Awaitable, ClaimRequest, ClaimResult } from '../inbox/store.ts'
import type { Backlog } from './backlog.ts'
import type { Leased } from './leased.ts'
import type { Life, Opened } from './life.ts'
import type { Room } from './room.ts'
import type { Run } from './run.ts'
import type { StoreAway } from './store-away.ts'

interface ClaimsOptions {
  readonly clock: Clock
  readonly concurrency: number
  readonly storeTimeoutMs: number
  readonly life: Readonly<Life>
  readonly leased: Leased
  readonly room: Room
  readonly backlog: Backlog
  readonly storeAway: StoreAway
  readonly run: Run
}

/** Makes one claim; resolves to when something will be due next, where the store says so. */
type ClaimDue = () => Promise<number | undefined>

export function createClaims(options: ClaimsOptions): ClaimDue {
  const { clock, concurrency, storeTimeoutMs, life, leased, room, backlog, storeAway, run } = options

  function claim(request: ClaimRequest, from: Opened): Awaitable<ClaimResult> {
    const result = from.store.claim(request)
    if (!(result instanceof Promise)) return result
    room.hold(request)
    return inTime(result, request, from).finally(() => room.giveBack(request))
  }

  /** What comes too late is ours all the same: left alone, it would wait for its lease to run out. */
  function inTime(result: Promise<ClaimResult>, { leaseUntilMs }: ClaimRequest, from: Opened): Promise<ClaimResult> {
    return inStoreTime(clock, storeTimeoutMs, result, () => {
      result.then(
        ({ claims }) => {
          if (!life.stopped && clock.now() < leaseUntilMs) run('enter', claims, from, leaseUntilMs)
        },
        // It was reported as slow.
        () => {},
      )
    })
  }

  return async () => {
    const { opened, stopped } = life
    if (stopped || opened === undefined) return undefined
    // As long as there is no backlog, room is left for what comes.
    const request = room.ask(opened.store, backlog.goesFirst ? Infinity : concurrency, leased.messages())
    if (request === undefined) {
      // Whoever makes room wakes us.
      backlog.unknown()
      return undefined
    }
    const result = claim(request, opened)
    const { claims, nextDueMs } = result instanceof Promise ? await result : result
    storeAway.answered()
    backlog.claimed(claims.length, request.limit)
    run('enter', claims, opened, request.leaseUntilMs)
    return nextDueMs
  }
}
