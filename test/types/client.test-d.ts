/** The types of the client: what may be sent, and how answers and errors narrow. */
import { createReceiver, MessagingWebhooksError, type ErrorCode, type StatusCode } from 'messaging-webhooks'
import {
  createClient,
  SendError,
  type NumberOutcome,
  type Recipient,
  type SendingAll,
  type SendType,
  type Sent,
  type SentAll,
  type SentMessage,
} from 'messaging-webhooks/client'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const client = createClient({ baseUrl: 'https://service.invalid/', project: 'My Shop', apiKey: async () => 'key' })

test('a recipient narrows by its outcome', () => {
  function read(recipient: Recipient): void {
    if (recipient.outcome === 'accepted') expectTypeOf(recipient.code).toEqualTypeOf<11 | 13 | 14>()
    else if (recipient.outcome === 'refused') expectTypeOf(recipient.code).toEqualTypeOf<12 | 22 | 23>()
    else expectTypeOf(recipient.code).toEqualTypeOf<number | undefined>()
    expectTypeOf(recipient.messageId).toEqualTypeOf<string | undefined>()
    expectTypeOf(recipient.parts).toBeNumber()
  }
  expectTypeOf(read).toBeFunction()
  expectTypeOf<11 | 12 | 13 | 14 | 22 | 23>().toExtend<StatusCode>()
})

test('the fields of an answer for later reports', () => {
  expectTypeOf<Sent['kind']>().toEqualTypeOf<'accepted' | 'partial'>()
  expectTypeOf<Sent['sentAt']>().toEqualTypeOf<Date>()
  expectTypeOf<Sent['type']>().toEqualTypeOf<SendType>()
  expectTypeOf<Sent['scheduledFor']>().toEqualTypeOf<Date | undefined>()
  expectTypeOf<Sent['messages']>().toEqualTypeOf<readonly SentMessage[]>()
  expectTypeOf(client.send).returns.resolves.toEqualTypeOf<Sent>()
  const sending: SendingAll = client.sendAll({ to: [], message: '' })
  expectTypeOf(async () => sending).returns.resolves.toEqualTypeOf<SentAll>()
  expectTypeOf(sending).toExtend<AsyncIterable<NumberOutcome>>()
})

test('the code of an error', () => {
  function read(error: SendError): void {
    expectTypeOf(error).toExtend<MessagingWebhooksError>()
    expectTypeOf(error.code).toExtend<ErrorCode>()
    expectTypeOf(error.errors).toEqualTypeOf<Readonly<Record<string, readonly string[]>> | undefined>()
    switch (error.code) {
      case 'unauthenticated':
      case 'project_not_found':
      case 'unknown_project':
      case 'insufficient_balance':
      case 'volume_limit':
      case 'unsupported_number':
      case 'invalid':
      case 'refused':
      case 'unreadable':
      case 'not_sent':
      case 'unknown_outcome':
      case 'aborted':
      case 'unrecorded':
        break
      default:
        expectTypeOf(error.code).toBeNever()
    }
  }
  expectTypeOf(read).toBeFunction()
})

test('an invalid send does not compile', () => {
  const calls = (): unknown => [
    // @ts-expect-error The text is missing.
    client.send({ to: '999100000000' }),
    // @ts-expect-error An unknown name.
    client.send({ to: '999100000000', message: 'Hello', recipients: [] }),
    // @ts-expect-error A one-time password is always transactional.
    client.otp({ to: '999100000000', message: '4711', type: 'bulk' }),
    // @ts-expect-error Airtime has a channel of its own.
    client.airtime({ to: '999100000000', channel: 'sms' }),
    // @ts-expect-error A client is not a receiver.
    createClient({ baseUrl: 'https://service.invalid/', project: 'My Shop', apiKey: 'key', receiver: client }),
    // @ts-expect-error An unknown option.
    client.send({ to: '999100000000', message: 'Hello' }, { via: 'xml' }),
    client.send({ to: ['999100000000'], message: 'Hello', extra: { anything: [1] } }),
  ]
  expectTypeOf(calls).toBeFunction()
})

test('a schema types meta, from the send to every event of it', () => {
  const receiver = createReceiver({
    credentials: { authKey: 'key' },
    schemas: { meta: z.object({ order: z.number() }) },
  })
  interface Meta {
    order: number
  }
  const typed = createClient({ baseUrl: 'https://service.invalid/', project: 'My Shop', apiKey: 'key', receiver })
  expectTypeOf(typed.send).parameter(0).toHaveProperty('meta').toEqualTypeOf<Meta | undefined>()
  expectTypeOf(client.send).parameter(0).toHaveProperty('meta').toEqualTypeOf<unknown>()
  expectTypeOf(receiver.sends.expect)
    .parameter(1)
    .exclude(undefined)
    .toHaveProperty('meta')
    .toEqualTypeOf<Meta | undefined>()
  expectTypeOf(receiver.sends.intend)
    .parameter(0)
    .exclude(undefined)
    .toHaveProperty('meta')
    .toEqualTypeOf<Meta | undefined>()
  receiver.on('message.failed', ({ sent }) => expectTypeOf(sent?.meta).toEqualTypeOf<Meta | undefined>())
  receiver.on('send.unknown', ({ sent }) => expectTypeOf(sent.meta).toEqualTypeOf<Meta | undefined>())
  receiver.on('late', ({ report }) => expectTypeOf(report.sent?.meta).toEqualTypeOf<Meta | undefined>())
  expectTypeOf(receiver.messageState).returns.resolves.extract<object>().toHaveProperty('sent')
  typed.resend({ compose: ({ sent }) => `Order ${sent?.meta?.order} once more` })
  createReceiver({ credentials: { authKey: 'key' } }).on('message.read', ({ sent }) =>
    expectTypeOf(sent?.meta).toEqualTypeOf<unknown>(),
  )
})
