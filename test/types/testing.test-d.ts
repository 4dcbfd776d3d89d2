import { callback, callbackFor, type CallbackFields } from 'messaging-webhooks/testing'
import { expectTypeOf, test } from 'vitest'

test('the fields of the contract are typed, and misspelt ones do not compile', () => {
  expectTypeOf(() => {
    callback.smsDelivery({ status: 'network_failure', messageId: 'm-1', network: 'carrier-a', statusCode: 17 })
    callback.smsDelivery({ messageId: undefined })
    callback.chatApp({ phone_number: '254700000000', statuses: { status: 'failed', error: 'no consent' } })
    // @ts-expect-error -- not stauts
    callback.smsDelivery({ stauts: 'failed' })
    // @ts-expect-error -- the chat-app's field
    callback.smsDelivery({ message_id: 'm-1' })
    // @ts-expect-error -- a time is a number
    callback.smsDelivery({ timestamp: 'now' })
    // @ts-expect-error -- not stauts
    callback.chatApp({ statuses: { stauts: 'read' } })
    // @ts-expect-error -- the id is in `statuses`
    callback.chatApp({ messageId: 'm-1' })
  }).toBeFunction()
})

test('fields outside the contract are open', () => {
  expectTypeOf(callback.payment).parameter(0).toEqualTypeOf<Readonly<Record<string, unknown>> | undefined>()
  callback.received({ whatever: 1 })
  callback.subscription({ whatever: 1 })
})

test('an event’s callback has the fields of its shape', () => {
  expectTypeOf<CallbackFields<'message.read'>>().toHaveProperty('messageId')
  expectTypeOf(() => {
    callbackFor('message.failed', { messageId: 'm-1', status: 'absent_subscriber' })
    callbackFor('message.read', { messageId: 'm-1', statuses: { recipient: '254711000000' } })
    callbackFor('payment', { whatever: 1 })
    // @ts-expect-error -- not deliverd
    callbackFor('message.deliverd')
    // @ts-expect-error -- it takes two callbacks
    callbackFor('late')
    // @ts-expect-error -- not stauts
    callbackFor('message.failed', { stauts: 'failed' })
    // @ts-expect-error -- the chat-app's field
    callbackFor('message.delivered', { statuses: {} })
  }).toBeFunction()
})
