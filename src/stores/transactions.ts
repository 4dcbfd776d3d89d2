/** The transactions in which handlers write, each on a connection of its own. They end with the settlement of their event. */
import { MessagingWebhooksError } from '../public/errors.ts'
import type { HandlerTransaction, MessageStore, SettleFailed } from '../inbox/store.ts'
import type { Circumstances, Settle, Settled } from '../messages/commands.ts'
import { createSharedRunner, type SharedRunner } from './compare-and-set.ts'
import type { SharedEngine, VersionedChange } from './engine.ts'

/** Transactions of an engine, each on a connection of its own of a pool. */
export interface TransactionEngine<Session, Context extends object> {
  readonly maxConnections: number
  /** Takes a connection and opens a transaction on it. */
  begin(): Promise<Session>
  /** The part of a connection that handlers get. */
  contextOf(session: Session): Context
  /** The operations of the store in the open transaction. */
  within(session: Session): Pick<SharedEngine, 'read' | 'write'>
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

export function createTransactions<Session, Context extends object>(options: {
  readonly engine: TransactionEngine<Session, Context>
  readonly shared: SharedEngine
  readonly runner: Pick<SharedRunner, 'forget'>
  readonly about: () => Pick<Circumstances, 'trustedMs' | 'retention'>
  /** Called for each settlement that was committed. */
  readonly onCommitted: (change: VersionedChange) => void
}): NonNullable<MessageStore<Context>['transactions']> {
  const { engine, shared, runner, about, onCommitted } = options

  async function rollBack(session: Session): Promise<void> {
    try {
      await engine.rollBack(session)
      engine.release(session)
    } catch (error) {
      // The transaction ends with its connection.
      engine.release(session, error)
    }
  }

  async function commit(session: Session, settlement: Settle): Promise<Settled | SettleFailed> {
    try {
      // Otherwise the settlement would be committed without the rest of the handlers' writes, or the event would run again
      // although they are committed.
      if (!(await engine.isOpen(session))) {
        await rollBack(session)
        return { failed: new MessagingWebhooksError('transaction_failed', undefined, { cause: ended(engine.endedBy) }) }
      }
      const within = { ...shared, ...engine.within(session) }
      // It settles only, so it leases under no name.
      const changes: VersionedChange[] = []
      const onApplied = (change: VersionedChange): void => void changes.push(change)
      const inside = createSharedRunner({ engine: within, workerFor: () => undefined, about, onApplied })
      const [settled = NOT_HELD] = await inside.run([settlement])
      runner.forget(settlement.key)
      if (!settled.held) {
        await rollBack(session)
        return settled
      }
      await engine.commit(session)
      engine.release(session)
      for (const change of changes) onCommitted(change)
      return settled
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

  return {
    most: Math.max(1, engine.maxConnections - RESERVED),
    async begin(): Promise<HandlerTransaction<Context>> {
      const session = await engine.begin()
      return {
        context: engine.contextOf(session),
        commit: (settlement) => commit(session, settlement),
        rollBack: () => rollBack(session),
      }
    },
  }
}

const NOT_HELD: Settled = { held: false, nextInMs: undefined }

function ended(by: string): Error {
  const error = new Error(
    `${by} ended the transaction before the settlement. What was committed stays. Write with the queries of context.transaction, in savepoints if needed, and not in a transaction() of an ORM`,
  )
  error.name = 'TransactionEnded'
  return error
}
