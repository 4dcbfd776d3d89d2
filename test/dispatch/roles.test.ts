/** Roles: a receiver that only accepts, and one that only dispatches, on one store. */
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../support/receiving.ts'
import { lastingStore } from '../support/stores.ts'

test('a receiver that only accepts opens its store with the first request, and claims nothing', async () => {
  const lasting = await lastingStore()
  const hosts: (boolean | undefined)[] = []
  let searches = 0
  const { url, receiver } = await receiving({
    dispatch: false,
    store: {
      capabilities: lasting.capabilities,
      async open(host) {
        hosts.push(host.claims)
        const open = await lasting.open(host)
        return {
          ...open,
          due(request) {
            if (request.of === 'events') searches += 1
            return open.due(request)
          },
        }
      },
    },
  })
  await post(url, callback.smsDelivery({ messageId: 'm' }))
  expect(hosts).toEqual([false])
  const id = (await receiver.deadLetters.list()).items[0]?.id ?? 'none'
  expect(await receiver.deadLetters.replay(id)).toBe(false)
  expect((await receiver.messageState('m'))?.messageId).toBe('m')
  expect(searches).toBe(0)
})

test('rejects dispatch: false when no other process could dispatch, or an answer would wait for it', async () => {
  const credentials = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
  expect(() => createReceiver({ credentials, dispatch: false })).toThrow(/dispatch: false needs a store .* memory/)
  const store = await lastingStore()
  expect(() => createReceiver({ credentials, store, dispatch: false, answer: 'handled' })).toThrow(
    /needs handlers in this process/,
  )
})

test('warns once of a remote store without a spool, and not if that was configured explicitly', async () => {
  const store = await lastingStore()
  const warned = async (spool: false | undefined): Promise<readonly unknown[]> => {
    const codes: unknown[] = []
    const note = (fields: object): void => void codes.push('code' in fields ? fields.code : undefined)
    const logger = { debug() {}, info() {}, warn: note, error: note }
    const { receiver } = await receiving({ store, logger, ...(spool === undefined ? {} : { spool }) })
    await receiver.start()
    await receiver.start()
    return codes
  }
  expect(await warned(undefined)).toEqual(['no_spool'])
  expect(await warned(false)).toEqual([])
})
