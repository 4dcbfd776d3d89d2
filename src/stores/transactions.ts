/** The transactions in which handlers write: one per event, opened with its claim and ended with its settlement. */
import { MessagingWebhooksError } from '../public/errors.ts'
import type { SharedStore } from '../inbox/record-store.ts'
import type { Claim, ClaimRequest, ClaimResult, SettleFailed, Settlement } from '../inbox/store.ts'

/** Transactions of an engine, each on a connection of its own of a pool. */
export interface TransactionEngine<Session, Context extends object> {
  readonly maxConnections: number
  /** Takes a connection and opens a transaction on it. */
  begin(): Promise<Session>
  /** The part of a connection that handlers get. */
  contextOf(session: Session): Context
  /** The operations of the store in the open transaction. */
  within(session: Session): Pick<SharedStore, 'read' | 'write'>
  /** Whether this is still the transaction of `begin`. A handler, or an ORM on its connection, may have ended it. */
  isOpen(session: Session): Promise<boolean>
  /** What may have ended it, as the subject of a sentence. */
  readonly endedBy: string
  commit(session: Session): Promise<unknown>
  rollBack(session: Session): Promise<unknown>
  /** Returns the connection to the pool. With an `error`, closes it, which ends its transaction. */
  release(session: Session, error?: unknown): void
  /** Whether a statement of the transaction caused the error, rather than an unavailable server. */
  isOfTheStatement(error: unknown): boolean
  /** The error that a store operation rejects with. */
  asThrown(error: unknown): Error
  /** The error without the values that it may quote. */
  cleaned(error: unknown): Error
}

/** Connections reserved for admission and settlement, so that handlers cannot block them. */
const RESERVED = 2
const LOOK_AGAIN_MS = 50
/** Delay of an event with a lost transaction. The dispatcher has reported the loss. */
const RUN_AGAIN_MS = 1_000

export function createTransactions<Session, Context extends object>(options: {
  readonly engine: TransactionEngine<Session, Context>
  /** Settles in this open transaction. Resolves to whether the lease is still valid. */
  readonly settleWithin: (
    transaction: Pick<SharedStore, 'read' | 'write'>,
    settlement: Settlement,
    nowMs: number,
  ) => Promise<boolean>
  readonly claim: (request: ClaimRequest) => Promise<ClaimResult>
  readonly settle: (settlements: readonly Settlement[], nowMs: number) => Promise<readonly (boolean | SettleFailed)[]>
}) {
  const { engine, settleWithin, claim, settle } = options
  const most = Math.max(1, engine.maxConnections - RESERVED)
  const open = new Map<string, Session>()
  let beginning = 0

  const nameOf = ({ id, token }: { readonly id: string; readonly token: number }): string => `${id} ${token}`

  async function begin(claimed: Claim): Promise<void> {
    open.set(nameOf(claimed), await engine.begin())
  }

  /** Removes the transaction of a settlement from the list. The caller must end it. */
  function take(settlement: Settlement): Session | undefined {
    const session = open.get(nameOf(settlement))
    open.delete(nameOf(settlement))
    return session
  }

  async function rollBack(session: Session): Promise<void> {
    try {
      await engine.rollBack(session)
      engine.release(session)
    } catch (error) {
      // The transaction ends with its connection.
      engine.release(session, error)
    }
  }

  async function commit(session: Session, settlement: Settlement, nowMs: number) {
    try {
      // Otherwise the settlement would be committed without the rest of the handlers' writes, or the event would run again
      // although they are committed.
      if (!(await engine.isOpen(session))) {
        await rollBack(session)
        return { failed: new MessagingWebhooksError('transaction_failed', undefined, { cause: ended(engine.endedBy) }) }
      }
      const held = await settleWithin(engine.within(session), settlement, nowMs)
      if (!held) {
        await rollBack(session)
        return false
      }
      await engine.commit(session)
      engine.release(session)
      return true
    } catch (error) {
      if (!engine.isOfTheStatement(error)) {
        engine.release(session, error)
        throw engine.asThrown(error)
      }
      await rollBack(session)
      const cause = engine.cleaned(error)
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
    async claim(request: ClaimRequest): Promise<ClaimResult> {
      const limit = Math.min(request.limit, most - open.size - beginning)
      if (limit <= 0) return { claims: [], nextDueMs: request.nowMs + LOOK_AGAIN_MS }
      beginning += limit
      try {
        const { claims, nextDueMs } = await claim({ ...request, limit })
        const opened = await Promise.allSettled(claims.map(begin))
        const ready = claims.filter((_, index) => opened[index]?.status === 'fulfilled')
        const others = claims.filter((claimed) => !ready.includes(claimed))
        // No handler runs these claims, so release them. If the release fails too, their leases expire.
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
    async settle(settlements: readonly Settlement[], nowMs: number) {
      const settled = await Promise.allSettled(settlements.map((settlement) => settleOne(settlement, nowMs)))
      return settled.map((each) => {
        // Reject all: the caller then settles each alone, which shows what happened to it.
        if (each.status === 'rejected') throw each.reason
        return each.value
      })
    },
    contextFor(claimed: Claim): Context {
      const session = open.get(nameOf(claimed))
      if (session === undefined) throw new MessagingWebhooksError('store_failed', 'The transaction of a claim is gone.')
      return engine.contextOf(session)
    },
    /** Rolls back the transactions of unsettled events. */
    async close(): Promise<void> {
      const left = [...open.values()]
      open.clear()
      await Promise.all(left.map(rollBack))
    },
  }
}

function ended(by: string): Error {
  const error = new Error(
    `${by} ended the transaction before the settlement. What was committed stays. Write with the queries of context.transaction, in savepoints if needed, and not in a transaction() of an ORM`,
  )
  error.name = 'TransactionEnded'
  return error
}
