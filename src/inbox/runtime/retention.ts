/** Retention and erasure, as commands, and when an open store is pruned. */
import { erase, expire, type ErasedCounts, type Expired, type Retention } from '../../messages/retention.ts'
import type { MessageRecord } from '../../messages/record.ts'
import type { Indexes } from '../record-store.ts'
import { isTarget, type OpenStore } from '../store.ts'
import { andThen, type Command, type Runner } from './commands.ts'
import type { SteadyClock } from '../../runtime/clock.ts'

type Verbs = Pick<OpenStore, 'prune'> & Required<Pick<OpenStore, 'forget'>>

interface RetentionOptions {
  readonly runner: Runner
  readonly indexes: Indexes
  readonly retention: Retention
}

const EXPIRED_A_STEP = 1_000

export function createRetentionVerbs({ runner, indexes, retention }: RetentionOptions): Verbs {
  return {
    forget: ({ targets, dryRun }, nowMs) =>
      andThen(indexes.payloadsOf(targets.map(({ messageKey }) => messageKey)), (kept) => {
        const commands = targets.map((target, index): Command<ErasedCounts> => {
          const key = target.messageKey
          return {
            key,
            decide(record) {
              const isMeant = (id: string): boolean => isTarget(target, id)
              const decided = erase(record, { key, isMeant, kept: kept[index] ?? [] }, nowMs)
              return dryRun ? { ...decided, record: undefined } : decided
            },
          }
        })
        return andThen(runner.run(commands), sumOf)
      }),
    prune: (nowMs) =>
      andThen(indexes.aged(nowMs, EXPIRED_A_STEP), (keys) =>
        andThen(indexes.payloadsOf(keys), (kept) => {
          const expiring = keys.map((key, index): Command<Expired> => ({
            key,
            decide: (record) => expire(record, { retention, kept: kept[index] ?? [] }, nowMs),
          }))
          return andThen(runner.run(expiring), (answers) => {
            const isGone = (record: MessageRecord): boolean =>
              expire(record, { retention, kept: [] }, nowMs).answer === 'gone'
            const gone = keys.filter((_, index) => answers[index] === 'gone')
            const count = answers.filter((answer) => answer !== 'kept').length
            return andThen(runner.remove(gone, isGone), () => count)
          })
        }),
      ),
  }
}

function sumOf(counts: readonly ErasedCounts[]): ErasedCounts {
  const sum = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }
  for (const each of counts) {
    sum.events += each.events
    sum.unsettled += each.unsettled
    sum.deadLetters += each.deadLetters
    sum.states += each.states
  }
  return sum
}

const PRUNE_EVERY_MS = 60_000
const PRUNE_AGAIN_MS = 1_000

/** Removes data past its retention while the store is open. */
export function createPruning(clock: SteadyClock) {
  /** Advances only by elapsed timers: a wall clock that jumps ahead must not age any data. */
  let prunedUntilMs: number | undefined
  let isStopped = false
  let cancel = (): void => {}

  /** Prunes in steps, and again soon while there is data to remove, so that a busy store keeps up. */
  function pruneIn(afterMs: number, target: OpenStore<object>): void {
    if (isStopped) return
    prunedUntilMs ??= clock.now() - clock.aheadMs
    cancel = clock.setTimer(() => {
      prunedUntilMs = Math.min((prunedUntilMs ?? Infinity) + afterMs, clock.now() - clock.aheadMs)
      const untilMs = prunedUntilMs
      const prune = async (): Promise<number> => target.prune(untilMs)
      // A failed step is retried in a minute.
      void prune().then(
        (forgotten) => pruneIn(forgotten > 0 ? PRUNE_AGAIN_MS : PRUNE_EVERY_MS, target),
        () => pruneIn(PRUNE_EVERY_MS, target),
      )
    }, afterMs)
  }

  return {
    /** Starts pruning this store. No effect after `stop`. */
    begin: (target: OpenStore<object>) => pruneIn(PRUNE_EVERY_MS, target),
    stop(): void {
      isStopped = true
      cancel()
    },
  }
}
