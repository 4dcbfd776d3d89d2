/** A server that answers, but works on a write for too long. What the SQL stores share. */
import type { Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { ownFolder } from '../support/own-folder.ts'
import { post, receiving } from '../support/receiving.ts'
import { observer } from './postgres/events.ts'

/** For the option `queryTimeoutMs`. */
export const QUERY_TIMEOUT_MS = 300
/** How long a write takes. */
export const SLOW_S = 60
/** Far less, and more than the receiver waits for a store. */
const ANSWERED_MS = 20_000
/** Of the application's pool. */
export const CONNECTIONS = 3

interface SlowDatabase {
  /** With `QUERY_TIMEOUT_MS`. */
  readonly store: Store<object>
  /** Makes each new record take `SLOW_S`. Returns the function that ends this. */
  readonly slowDown: () => Promise<() => Promise<unknown>>
  /** A query of the application on its pool, if the store uses that. */
  readonly query: (() => Promise<unknown>) | undefined
}

export function testSlowStatements(of: string, fresh: () => Promise<SlowDatabase> | SlowDatabase): void {
  test.each([
    ['answered 503', false],
    ['spooled', true],
  ] as const)(
    `${of}: a callback that the server takes too long to write is %s in time, and written once`,
    { timeout: 60_000 },
    async (_, isSpooled) => {
      const { store, slowDown, query } = await fresh()
      const { receiver, url, errors } = await receiving({ store, spool: isSpooled ? ownFolder() : false })
      const handled: string[] = []
      receiver.on('message.*', ({ messageId }) => void handled.push(messageId))
      await receiver.start()
      const send = async (messageId: string) => (await post(url, callback.smsDelivery({ messageId }))).status
      expect(await send('before')).toBe(204)
      const other = await observer(store)
      const isSettled = () => expect.poll(() => other.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
      await isSettled()
      const end = await slowDown()

      const startedMs = performance.now()
      expect(await send('meanwhile')).toBe(isSpooled ? 204 : 503)
      expect(performance.now() - startedMs).toBeLessThan(ANSWERED_MS)
      if (query !== undefined) await Promise.all(Array.from({ length: CONNECTIONS }, query))

      await end()
      // The service repeats a callback that was refused.
      if (!isSpooled) await expect.poll(() => send('meanwhile')).toBe(204)
      const names = Array.from({ length: 2 * CONNECTIONS }, (_unused, index) => `after ${index}`)
      await expect.poll(() => handled).toContain('meanwhile')
      expect(new Set(await Promise.all(names.map((name) => send(name))))).toEqual(new Set([204]))
      await isSettled()
      const all = ['before', 'meanwhile', ...names].toSorted()
      expect(handled.toSorted()).toEqual(all)
      const { items } = await other.scan({ of: 'events', after: undefined, limit: 100 })
      expect(items.map(({ record }) => record?.report?.messageId).toSorted()).toEqual(all)
      const codes = errors.map(({ code }) => code)
      for (const code of ['lease_lost', 'store_pool_transaction']) expect(codes).not.toContain(code)
    },
  )
}
