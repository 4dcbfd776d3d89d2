/** The option `channels`: the channel names of the emulator, and invalid names. */
import type { WebhookEvent } from 'messaging-webhooks'
import { createEmulator, type EmulatorOptions } from 'messaging-webhooks/emulator'
import { describe, expect, test } from 'vitest'
import { receiving } from '../support/receiving.ts'
import { AUTH_KEY, collecting, emulating, sendFrom, SIGNING_SECRET } from './emulating.ts'

const READ = '999300000001'
const DELIVERED = '999100000000'

describe('a chat-app by its real name', () => {
  const channels = { 'chat-app': 'telegraph' }

  test('appears in every report that a receiver gets', async () => {
    const { url, receiver } = await receiving({ credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET } })
    const events: WebhookEvent[] = []
    receiver.onAny((event) => void events.push(event))
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
  })

  test('replaces the emulator’s own name, and a send with that name gets the list of valid channels', async () => {
    const { endpoint, emulator } = await emulating({}, { channels })
    const text =
      'Error. Invalid request. The channel field must be one of sms, telegraph, premium, premium-subscription, airtime.'
    expect(await sendFrom(endpoint, { to: READ, channel: 'chat-app' })).toEqual({
      status: 400,
      body: { messageData: { message: text } },
    })
    await sendFrom(endpoint, { to: READ, channel: 'telegraph' })
    expect(emulator.sends().map(({ channel }) => channel)).toEqual(['sms', 'telegraph'])
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

describe('a mistake in the option throws at once', () => {
  const MISTAKES: readonly (readonly [what: string, channels: unknown, says: string])[] = [
    ['a misspelt channel', { chatapp: 'x' }, 'Invalid option: channels.chatapp. Did you mean channels.chat-app?'],
    ['a name for SMS', { sms: 'text' }, 'channels.sms is a string; expected to be left out'],
    ['capital letters', { 'chat-app': 'Telegraph' }, 'expected the chat-app’s name in lowercase'],
    ['spaces around it', { airtime: ' airtime' }, 'expected a name without spaces around it'],
    ['a control character', { 'chat-app': 'tele\u0000graph' }, 'expected the chat-app’s name'],
    ['one name for two', { 'chat-app': 'x', airtime: 'x' }, '"x" is the name of chat-app and of airtime; expected'],
    ['a name that another channel still has', { 'chat-app': 'premium' }, 'is the name of chat-app and of premium'],
  ]

  test.each(MISTAKES)('%s', (_, channels, says) => {
    const options = { channels } as EmulatorOptions
    expect(() => createEmulator(options)).toThrow(
      expect.objectContaining({ code: 'options_invalid', message: expect.stringContaining(says) as string }) as Error,
    )
  })
})
