/** The same callback again, at once, later, and long after. Numbers refer to the hazard list. */
import { memoryStore } from 'messaging-webhooks'
import { expect } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { hazards, several, accepted, type HazardCase } from '../support/hazard.ts'
import { digestOf, keyedText, nowSeconds, postSigned, postUnsigned, reportText } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })
const AT = { timestamp: 1_760_000_000 }

/** Pairs of bodies that are the same event, or are not. */
function pair(name: string, first: string, second: string, events: number, more: Partial<HazardCase> = {}): HazardCase {
  return several(name, [first, second], accepted(...Array.from({ length: events }, () => ({}))), more)
}

const DAY_MS = 86_400_000
const yesterday = fakeClock(Date.now() - DAY_MS)
const longAgo = fakeClock(Date.now() - 2 * DAY_MS - 60_000)

hazards([
  {
    name: '#98 the same 50 times at once on 50 connections',
    async send({ url }) {
      const statuses = await Promise.all(Array.from({ length: 50 }, () => postSigned(url, reportText(AT))))
      expect(new Set(statuses)).toEqual(new Set([204]))
      return 204
    },
    outcome: DELIVERED,
    also: async ({ receiver }) => expect(await receiver.stats()).toMatchObject({ accepted: 50, duplicates: 49 }),
  },
  {
    name: '#99 a request with an authKey, again within the time that duplicates are known',
    options: { clock: yesterday, store: memoryStore({ dedupeDays: 2 }) },
    async send({ url }) {
      await postUnsigned(url, keyedText(AT))
      await yesterday.advance(DAY_MS)
      return postUnsigned(url, keyedText(AT))
    },
    outcome: DELIVERED,
  },
  {
    name: '#99 and after it',
    options: { clock: longAgo, store: memoryStore({ dedupeDays: 2 }) },
    async send({ url }) {
      await postUnsigned(url, keyedText(AT))
      // Identities are pruned once a minute.
      await longAgo.advance(2 * DAY_MS + 60_000)
      return postUnsigned(url, keyedText(AT))
    },
    outcome: accepted({ messageId: 'm-1' }, { messageId: 'm-1' }),
  },
  {
    name: '#100 a signed request, again within 300 s',
    async send({ url, receiver }) {
      const t = nowSeconds() - 200
      const signature = { 'x-service-signature': `t=${t},v1=${digestOf(t, reportText(AT))}` }
      await postSigned(url, reportText(AT), signature)
      await receiver.drain()
      return postSigned(url, reportText(AT), signature)
    },
    outcome: DELIVERED,
  },
  pair('the same report, with and without the authKey', reportText(AT), keyedText(AT), 1),
  pair('the same report, with a field more', reportText(AT), reportText({ ...AT, retry: 1 }), 1),
  pair('a payment pending and then completed', '{"id":1,"s":"pending"}', '{"id":1,"s":"done"}', 2, {
    mount: { kind: 'payment' },
  }),
])
