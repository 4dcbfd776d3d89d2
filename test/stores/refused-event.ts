/** An event that the database refuses for its data keeps its bytes and does not affect its neighbours. */
import { inspect } from 'node:util'
import type { Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect } from 'vitest'
import { post, receiving } from '../support/receiving.ts'

const POLL = { timeout: 30_000 }

/** A text that the tables of the store refuse. */
export const REFUSED = 'refuse me'

export async function checkRefusedEvent(store: Store): Promise<void> {
  const { receiver, url, errors } = await receiving({ store, spool: false })
  const seen: string[] = []
  receiver.on('message.*', (event) => void seen.push(event.messageId))
  receiver.on('unrecognized', (event) => void seen.push(event.problem))
  await receiver.start()
  const answers = await Promise.all(
    ['a', 'b', REFUSED, 'c', 'd'].map((messageId) => post(url, callback.smsDelivery({ messageId }))),
  )
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204])
  await expect.poll(() => seen.toSorted(), POLL).toEqual(['a', 'b', 'c', 'd', 'store_refused'])
  expect(inspect(errors, { depth: 10, showHidden: true }) + JSON.stringify(errors)).not.toContain(REFUSED)
}
