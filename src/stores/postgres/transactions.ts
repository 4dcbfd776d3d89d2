/** The transactions in which handlers write: one per event, opened with its claim and ended with its settlement. */
import type { ClientBase } from 'pg'
import { MessagingWebhooksError, OptionsError } from '../../public/errors.ts'
import type { Claim, ClaimRequest, ClaimResult, OpenStore, SettleFailed, Settlement } from '../../inbox/store.ts'
import type { Connections, Session } from './connections.ts'
import { hasState, isOfTheStatement, PROTOCOL_VIOLATION, type Failures } from './failures.ts'

/** What a transactional store adds to a handler's context. */
export interface PostgresContext {
  /**
   * The connection on which the event will be settled, with an open transaction: what is written through it is committed with
   * the settlement or not at all. Leave `BEGIN`, `COMMIT`, `ROLLBACK` and closing to the store, and rethrow errors of
   * statements.
   */
  readonly transaction: ClientBase
}

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** Rejects if a pooler gives each statement a connection of its own: every transaction of a handler would fail. */
export async function checkTransactions(connections: Connections, failures: Failures): Promise<void> {
  const session = await connections.checkOut()
  try {
    await session.batch(BEGIN)
    await session.batch('ROLLBACK')
    session.release()
  } catch (error) {
    session.release(failures.cleaned(error))
    if (!hasState(error, PROTOCOL_VIOLATION)) throw error
    throw new OptionsError(
      'postgresStore: `transactional` needs transactions of several statements, which PgBouncer refuses in statement mode. Set pool_mode = transaction, or connect to the database itself.',
    )
  }
}

type Verbs = Pick<OpenStore<PostgresContext>, 'claim' | 'settle'> & {
  contextFor(claim: Claim): PostgresContext
  /** Rolls back what is not settled. */
  close(): Promise<void>
}

/** Connections reserved for admission and settlement, so that handlers cannot block them. */
const RESERVED = 2
const LOOK_AGAIN_MS = 50
/** Called after a transaction was lost. The dispatcher has reported it. */
const RUN_AGAIN_MS = 1_000

export function createTransactions(options: {
  readonly connections: Connections
  /** The maximum of the pool. */
  readonly maxConnections: number
  readonly claim: (request: ClaimRequest) => Promise<ClaimResult>
  readonly settle: (settlements: readonly Settlement[], nowMs: number) => Promise<readonly (boolean | SettleFailed)[]>
  /** Settles in the transaction that is open on this connection. */
  readonly settleIn: (session: Session, settlement: Settlement, nowMs: number) => Promise<boolean>
  readonly failures: Failures
}): Verbs {
  const { connections, claim, settle, settleIn, failures } = options
  const most = Math.max(1, options.maxConnections - RESERVED)
  const open = new Map<string, Session>()
  let beginning = 0

  const nameOf = ({ id, token }: { readonly id: string; readonly token: number }): string => `${id} ${token}`

  async function begin(claimed: Claim): Promise<void> {
    const session = await connections.checkOut()
    try {
      await session.batch(BEGIN)
      open.set(nameOf(claimed), session)
    } catch (error) {
      session.release(failures.cleaned(error))
      throw error
    }
  }

  /** Removes the transaction of a settlement from the list. The caller must end it. */
  function take(settlement: Settlement): Session | undefined {
    const session = open.get(nameOf(settlement))
    open.delete(nameOf(settlement))
    return session
  }

  async function rollBack(session: Session): Promise<void> {
    try {
      await session.batch('ROLLBACK')
      session.release()
    } catch (error) {
      // The transaction ends with its connection.
      session.release(failures.cleaned(error))
    }
  }

  async function commit(session: Session, settlement: Settlement, nowMs: number) {
    try {
      const held = await settleIn(session, settlement, nowMs)
      if (!held) {
        await rollBack(session)
        return false
      }
      await session.batch('COMMIT')
      session.release()
      return true
    } catch (error) {
      if (!isOfTheStatement(error)) {
        session.release(failures.cleaned(error))
        throw failures.asThrown(error)
      }
      await rollBack(session)
      const cause = failures.cleaned(error)
      return { failed: new MessagingWebhooksError('transaction_failed', undefined, { cause }) }
    }
  }

  async function settleOne(settlement: Settlement, nowMs: number) {
    const session = take(settlement)
    if (settlement.outcome === 'done') {
      if (session !== undefined) return commit(session, settlement, nowMs)
      // It is unknown whether the transaction was committed. If it was, this changes nothing; if not, the handlers must run
      // again.
      const { id, messageKey, token } = settlement
      const again: Settlement = { id, messageKey, token, outcome: 'retry', dueMs: nowMs + RUN_AGAIN_MS, error: '' }
      await settle([again], nowMs)
      return false
    }
    if (session !== undefined) await rollBack(session)
    const [held = false] = await settle([settlement], nowMs)
    return held
  }

  return {
    async claim(request) {
      const limit = Math.min(request.limit, most - open.size - beginning)
      if (limit <= 0) return { claims: [], nextDueMs: request.nowMs + LOOK_AGAIN_MS }
      beginning += limit
      try {
        const { claims, nextDueMs } = await claim({ ...request, limit })
        const opened = await Promise.allSettled(claims.map(begin))
        const ready = claims.filter((_, index) => opened[index]?.status === 'fulfilled')
        const others = claims.filter((claimed) => !ready.includes(claimed))
        // No handler has them. If this fails too, their leases expire.
        const { nowMs } = request
        const back = others.map(({ id, messageKey, token }): Settlement => {
          return { id, messageKey, token, outcome: 'release', dueMs: nowMs + RUN_AGAIN_MS }
        })
        await settle(back, nowMs).catch(() => [])
        return { claims: ready, nextDueMs: others.length === 0 ? nextDueMs : nowMs + RUN_AGAIN_MS }
      } finally {
        beginning -= limit
      }
    },
    async settle(settlements, nowMs) {
      const settled = await Promise.allSettled(settlements.map((settlement) => settleOne(settlement, nowMs)))
      return settled.map((each) => {
        // One rejection for all: each is settled again alone, and finds out what happened.
        if (each.status === 'rejected') throw each.reason
        return each.value
      })
    },
    contextFor(claimed) {
      const session = open.get(nameOf(claimed))
      if (session === undefined) throw new MessagingWebhooksError('store_failed', 'The transaction of a claim is gone.')
      return { transaction: session.client }
    },
    async close() {
      const left = [...open.values()]
      open.clear()
      await Promise.all(left.map(rollBack))
    },
  }
}
