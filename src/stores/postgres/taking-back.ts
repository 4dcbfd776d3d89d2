/**
 * Leases of which the answer was lost with its connection: the database has them under this process's name, nobody runs their
 * events, and they need not wait for the end of the lease.
 */
import { monotonicMs } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type { Claim, ClaimRequest, Settlement } from '../../inbox/store.ts'
import { integer, text } from './encoding.ts'
import type { Engine } from './engine.ts'
import { fill, SERVER_NOW } from './sql-text.ts'

/** What the :holder has leased, :from a time on, but of the messages in :inHand (keys, hex). */
const LEASED = /* sql */ `
SELECT encode(m.key, 'hex') AS key, encode(w.id, 'hex') AS id, w.token
FROM {schema}.waiting w JOIN {schema}.messages m ON m.id = w.message
WHERE w.turn > :from AND w.leased AND w.holder = :holder
  AND m.key <> ALL (ARRAY(SELECT decode(hex, 'hex') FROM unnest(:inHand::text[]) AS hex));
`

/** Whose client is gone, a statement may still be at work for as long as it is allowed to, and then some. */
const MARGIN_MS = 2_000

interface TakingBack {
  /** Makes a call that leases, and notices where its answer is lost. */
  leasing<T extends { readonly claims: readonly Claim[] } | undefined>(call: () => Promise<T>): Promise<T>
  /** Before a claim for this holder: what a lost answer had is due again. Rejects where the database does not answer. */
  takeBack(request: ClaimRequest, holder: number): Promise<void>
}

export function createTakingBack(options: {
  readonly engine: Engine
  /** The callers' clocks say when a lease ends, which tell nothing of when that is by the server's. */
  readonly byCallers: boolean
  readonly settle: (settlements: readonly Settlement[], nowMs: number) => Promise<unknown>
}): TakingBack {
  const { engine, byCallers, settle } = options
  const leased = engine.sql(LEASED)
  const from = { sql: byCallers ? '0' : SERVER_NOW }
  const lastsMs = engine.connections.limits.queryTimeoutMs + MARGIN_MS
  const underWay = new Set<Promise<unknown>>()
  /** Something may turn up that was leased, and of which the answer was lost. */
  let untilMs = -Infinity
  /** Answered since the first loss, so somebody has them in hand, or had. */
  const heard = new Set<string>()

  async function hear<T extends { readonly claims: readonly Claim[] } | undefined>(call: Promise<T>): Promise<T> {
    try {
      const answer = await call
      if (monotonicMs() < untilMs) for (const { id } of answer?.claims ?? []) heard.add(id)
      return answer
    } catch (error) {
      // Any other error is a refusal: the server has undone it.
      if (error instanceof MessagingWebhooksError) untilMs = monotonicMs() + lastsMs
      throw error
    }
  }

  return {
    leasing(call) {
      const asked = hear(call())
      const over = (): boolean => underWay.delete(asked)
      underWay.add(asked)
      asked.then(over, over)
      return asked
    },
    async takeBack({ exclude, nowMs }, holder) {
      if (monotonicMs() >= untilMs) {
        heard.clear()
        return
      }
      const [rows = []] = await engine.together(fill(leased, { from, holder, inHand: [...exclude] }))
      if (rows.length === 0) return
      // What had leased before that look, and was not answered yet, says now which leases are known.
      await Promise.allSettled(underWay)
      const unheard = rows
        .map((row) => ({ id: text(row, 'id'), messageKey: text(row, 'key'), token: integer(row, 'token') }))
        .filter(({ id }) => !heard.has(id))
      // As where a process has died, the attempt counts: that is how one sees why an earlier report came late.
      await settle(
        unheard.map((lease) => ({ ...lease, outcome: 'retry', dueMs: nowMs, error: '' })),
        nowMs,
      )
    },
  }
}
