/** Events that no handler listens to, and attempts at events that were erased, in the inspector. */
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { EventDetail, EventList, MessageDetail, Overview } from '../../src/inspector/routes.ts'
import { onEachStore } from '../support/each-store.ts'
import { gate } from '../support/gate.ts'
import { ownFile } from '../support/own-folder.ts'
import { post } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'

const NOW = Math.floor(Date.now() / 1_000)
const PHONE = '254711000001'

describe.each(onEachStore)('on %s', (_, make) => {
  test('an event that no handler listens to is shown as such, late or not, and not as handled', async () => {
    const { get, status, receiver } = await inspecting({ store: make() })
    receiver.on('message.delivered', () => {})
    await post(status, callback.smsDelivery({ messageId: 'm', status: 'success', timestamp: NOW }))
    await receiver.drain()
    await post(status, callback.smsDelivery({ messageId: 'm', status: 'network_failure', timestamp: NOW - 60 }))
    await post(status, callback.chatApp({ statuses: { message_id: 'c', status: 'sent' } }))
    await receiver.drain()
    const outcomes = async (query: string) =>
      as<EventList>((await get(`api/events?${query}`)).body)
        .items.map(({ type, outcome }) => `${type ?? ''} ${outcome}`)
        .sort()
    const without = ['late unhandled', 'message.sent unhandled']
    expect(await outcomes('')).toEqual([...without, 'message.delivered settled'].sort())
    expect(await outcomes('outcome=unhandled')).toEqual(without)
    expect(await outcomes('outcome=settled')).toEqual(['message.delivered settled'])
    const { entries } = as<MessageDetail>((await get('api/messages/m')).body)
    expect(entries.map(({ attempts }) => attempts.map(({ outcome }) => outcome))).toEqual([[], ['succeeded']])
    const { unhandled, plot } = as<Overview>((await get('api/overview')).body)
    expect(unhandled.map(({ name, count }) => [name, count])).toEqual([
      ['late', 1],
      ['message.sent', 1],
    ])
    expect(plot.buckets.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(1)
    expect(await receiver.events.ofMessage('c')).toMatchObject([{ state: 'settled', attempts: 0 }])
  })
})

describe('after an erasure', () => {
  /** An event whose first attempt fails with an error that quotes the number, and its attempts as the inspector shows them. */
  async function failing() {
    const file = ownFile()
    const looking = await inspecting({ store: sqliteStore(file), retry: { initialDelayMs: 1 } })
    const { get, status, receiver } = looking
    receiver.on('message.failed', ({ recipient }, { attempt }) => {
      if (attempt === 1) throw new Error(`no contact ${recipient ?? ''}`)
    })
    await post(status, callback.chatApp({ statuses: { message_id: 'c', status: 'failed', recipient: PHONE } }))
    await receiver.drain()
    const [event] = await receiver.events.ofMessage('c')
    const shown = async (): Promise<string> => {
      const [detail, message] = [await get(`api/events/${event?.id ?? ''}?of=c`), await get('api/messages/c')]
      expect(as<EventDetail>(detail.body).event.id).toBe(event?.id)
      return JSON.stringify([detail.body, message.body])
    }
    expect(await shown()).toContain(`no contact ${PHONE}`)
    return { ...looking, file, shown }
  }

  test('its recent attempts no longer show the number', async () => {
    const { receiver, shown } = await failing()
    await receiver.forget({ recipient: PHONE })
    expect(await shown()).not.toContain(PHONE)
  })

  test('nor when another process erased it', async () => {
    const { file, shown } = await failing()
    const other = createReceiver({ credentials: { authKey: 'key' }, store: sqliteStore(file), logger: false })
    onTestFinished(() => other.close())
    await other.forget({ recipient: PHONE })
    expect(await shown()).not.toContain(PHONE)
  })

  test('nor an attempt that ended after the erasure', async () => {
    const { get, status, receiver } = await inspecting({ store: sqliteStore(ownFile()), retry: { initialDelayMs: 1 } })
    const running = gate()
    const begun = gate()
    receiver.on('message.failed', async ({ recipient }) => {
      begun.open()
      await running.opened
      throw new Error(`no contact ${recipient ?? ''}`)
    })
    await post(status, callback.chatApp({ statuses: { message_id: 'c', status: 'failed', recipient: PHONE } }))
    await begun.opened
    const [event] = await receiver.events.ofMessage('c')
    await receiver.forget({ recipient: PHONE })
    running.open()
    await receiver.drain()
    // A later report, so that the message is known again.
    await post(status, callback.chatApp({ statuses: { message_id: 'c', status: 'sent', recipient: '254711000002' } }))
    await receiver.drain()
    const { body } = await get(`api/events/${event?.id ?? ''}?of=c`)
    expect(JSON.stringify([body, (await get('api/messages/c')).body])).not.toContain(PHONE)
  })
})
