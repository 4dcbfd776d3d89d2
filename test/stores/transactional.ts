/** `context.transaction`: what handlers write commits together with the event's settlement. What the SQL stores share. */
import { createReceiver, type MessagingWebhooksError, type Store } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, eventOf, observer, opened, settling } from './postgres/events.ts'

export const POLL = { timeout: 30_000 }
export const TIMEOUT = { timeout: 60_000 }

/** A fresh database with an empty table `table` for texts in the column `what`. */
export interface TransactionalDatabase<X extends object> {
  readonly table: string
  readonly store: Store<X>
  /** A store on the same tables without transactions. */
  readonly plain: Store<object>
  /** Writes in the transaction of a handler. */
  readonly insert: (context: X, what: string) => Promise<unknown>
  readonly query: (context: X, statement: string) => Promise<unknown>
  readonly written: () => Promise<readonly unknown[]>
  /** Ends the connection of a handler. */
  readonly cut: (context: X) => Promise<unknown>
}

/** A receiver on the transactional store of this database. */
export async function writing<X extends object>(database: TransactionalDatabase<X>, { attempts = 5 } = {}) {
  const errors: MessagingWebhooksError[] = []
  const receiver = createReceiver<{}, X>({
    credentials: { authKey: 'unused', signingSecret: 'unused' },
    store: database.store,
    retry: { attempts, initialDelayMs: 1, maxDelayMs: 5 },
    logger: false,
  })
  receiver.onError((error) => void errors.push(error))
  onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
  await receiver.start()
  const admitting = await observer(database.plain)
  return {
    ...database,
    receiver,
    errors,
    admit: () => admit(admitting, [eventOf('m')]),
    counts: () => admitting.counts(),
  }
}

const ENDINGS: readonly (readonly [what: string, before: readonly string[], after: readonly string[]])[] = [
  ['commits', [], ['COMMIT']],
  ['rolls back', [], ['ROLLBACK']],
  ['opens a transaction of its own, as an ORM does', ['BEGIN'], ['COMMIT']],
  ['commits and begins another', [], ['COMMIT', 'BEGIN']],
]

export function testTransactions<X extends object>(fresh: () => Promise<TransactionalDatabase<X>>): void {
  test('rolls back what a failed attempt wrote, and runs all handlers again', TIMEOUT, async () => {
    const { receiver, insert, written, admit, counts } = await writing(await fresh())
    const attempts: number[] = []
    receiver.on('message.*', (event, context) => insert(context, `first of ${context.attempt}`))
    receiver.on('message.*', async (event, context) => {
      const { attempt } = context
      attempts.push(attempt)
      await insert(context, `second of ${attempt}`)
      if (attempt < 3) throw new Error('not yet')
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(attempts).toEqual([1, 2, 3])
    expect(await written()).toEqual(['first of 3', 'second of 3'])
  })

  test('rolls back and retries when the connection is cut while a handler writes', TIMEOUT, async () => {
    const { receiver, insert, written, cut, admit, counts } = await writing(await fresh())
    receiver.on('message.*', async (event, context) => {
      await insert(context, `attempt ${context.attempt}`)
      if (context.attempt === 1) await cut(context)
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await written()).toEqual(['attempt 2'])
  })

  test.each(ENDINGS)('is told if a handler %s, before the settlement', TIMEOUT, async (_, before, after) => {
    const { receiver, errors, insert, query, written, admit, counts } = await writing(await fresh(), { attempts: 2 })
    const unsettled: unknown[] = []
    receiver.on('message.*', async (event, context) => {
      if (context.attempt > 1) {
        unsettled.push(await counts())
        return
      }
      for (const statement of before) await query(context, statement)
      await insert(context, 'written')
      for (const statement of after) await query(context, statement)
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(unsettled).toEqual([{ unsettled: 1, deadLetters: 0 }])
    expect(errors.map(({ code }) => code)).toEqual(['transaction_failed'])
    expect(errors[0]?.message).toMatch(/handler.* ended the transaction.*savepoints.*ORM/)
    expect(await written()).toEqual(after[0] === 'ROLLBACK' ? [] : ['written'])
  })

  test('a handler may use savepoints', TIMEOUT, async () => {
    const { receiver, errors, insert, query, written, admit, counts } = await writing(await fresh())
    receiver.on('message.*', async (event, context) => {
      await query(context, 'SAVEPOINT mine')
      await insert(context, 'undone')
      await query(context, 'ROLLBACK TO SAVEPOINT mine')
      await insert(context, 'kept')
      await query(context, 'RELEASE SAVEPOINT mine')
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect([errors, await written()]).toEqual([[], ['kept']])
  })

  test('commits nothing when the lease is lost while a handler writes', TIMEOUT, async () => {
    const { store, plain, insert, written } = await fresh()
    const [slow, other] = [await opened(store), await opened(plain)]
    await admit(slow, [eventOf('m')])
    const [first] = await claim(slow, { leaseForMs: 100 })
    const transaction = await slow.transactions?.begin()
    if (first === undefined || transaction === undefined) throw new Error('Nothing was claimed.')
    await insert(transaction.context, 'slow')
    await expect.poll(async () => (await claim(other))[0]?.attempt, POLL).toBe(2)
    expect(await transaction.commit(settling(first))).toEqual({ held: false, nextInMs: undefined })
    expect(await written()).toEqual([])
  })
}
