/** The option `channels`: the channel names of the emulator. */
import type { WebhookEvent } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { receiving } from '../support/receiving.ts'
import { collecting, emulating, sendFrom } from './emulating.ts'

const READ = '999300000001'
const DELIVERED = '999100000000'

test('a chat-app by its real name, in answers, reports and errors', async () => {
  const { url, receiver } = await receiving()
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  const channels = { 'chat-app': 'telegraph' }
  const { endpoint, idle } = await emulating({ callbackUrls: { status: url } }, { channels })
  const answer = await sendFrom(endpoint, { to: READ, channel: 'telegraph' })
  expect(answer).toMatchObject({ status: 200, body: { messageData: { messages: 1 } } })
  await idle()
  expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  expect(events).toMatchObject([
    { type: 'message.sent', channel: 'telegraph' },
    { type: 'message.delivered', channel: 'telegraph' },
    { type: 'message.read', channel: 'telegraph' },
  ])
  const message =
    'Error. Invalid request. The channel field must be one of sms, telegraph, premium, premium-subscription, airtime.'
  expect(await sendFrom(endpoint, { to: READ, channel: 'chat-app' })).toEqual({
    status: 400,
    body: { messageData: { message } },
  })
})

test('the other channels can be renamed too, even to each other’s names', async () => {
  const { collected, callbackUrls } = await collecting()
  const channels = { premium: 'airtime', airtime: 'top up', 'premium-subscription': 'Club' }
  const { endpoint, idle } = await emulating({ callbackUrls }, { channels })
  await sendFrom(endpoint, { to: DELIVERED, channel: 'airtime' })
  await sendFrom(endpoint, { to: DELIVERED, channel: 'Club' })
  const { body } = await sendFrom(endpoint, { to: DELIVERED, channel: 'top up', amount: 5 })
  expect(body).toMatchObject({ data: { messages: 1 } })
  await idle()
  const channelsSeen = collected.map(({ path, body: sent }) => [path, sent['channel']])
  expect(channelsSeen.toSorted()).toEqual([
    ['/status', 'top up'],
    ['/subscription', undefined],
    ['/subscription', undefined],
  ])
})
