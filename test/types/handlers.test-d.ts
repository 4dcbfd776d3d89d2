import {
  createReceiver,
  type EventMap,
  type EventType,
  type HandlerContext,
  type ReportEvent,
  type WebhookEvent,
} from 'messaging-webhooks'
import type { ChatAppReportPayload, ReportShape, SmsReportPayload } from '../../src/public/report-payloads.ts'
import type {
  DeliveredEvent,
  DeliveryFailure,
  FailedEvent,
  LateEvent,
  OverdueEvent,
  PaymentEvent,
  QueuedEvent,
  ReadEvent,
  ReceivedEvent,
  SentEvent,
  SubscriptionActivateEvent,
  SubscriptionBillingEvent,
  SubscriptionConsentEvent,
  SubscriptionDeactivateEvent,
  SubscriptionDeliveryEvent,
  SubscriptionOtherEvent,
  UnknownSendEvent,
  UnrecognizedEvent,
} from '../../src/public/events.ts'
import { expectTypeOf, test } from 'vitest'

const receiver = createReceiver({ credentials: { authKey: 'key' } })

test('each event type has its own fields', () => {
  receiver.on('message.failed', (event) => {
    expectTypeOf(event).toEqualTypeOf<FailedEvent>()
    expectTypeOf(event.failure).toEqualTypeOf<DeliveryFailure>()
    expectTypeOf(event.failure.kind).toEqualTypeOf<'transient' | 'permanent' | 'unreachable'>()
  })
  receiver.on('message.delivered', (event) => {
    expectTypeOf(event).toEqualTypeOf<DeliveredEvent>()
    expectTypeOf(event).not.toHaveProperty('failure')
    // @ts-expect-error -- a delivered message did not fail
    expectTypeOf(event.failure).toBeAny()
  })
  receiver.on('message.queued', (event) => {
    expectTypeOf(event.scheduled).toEqualTypeOf<boolean>()
  })
  receiver.on('late', (event) => {
    expectTypeOf(event).toEqualTypeOf<LateEvent>()
    expectTypeOf(event.report).toEqualTypeOf<ReportEvent>()
    expectTypeOf(event.messageId).toEqualTypeOf<string>()
    expectTypeOf(event.channel).toEqualTypeOf<string | undefined>()
    expectTypeOf(event.payload).toEqualTypeOf<SmsReportPayload | ChatAppReportPayload>()
  })
  receiver.on('unrecognized', (event) => {
    expectTypeOf(event).toEqualTypeOf<UnrecognizedEvent>()
  })
})

test('each event type has an exported type of its own', () => {
  expectTypeOf<EventMap>().toEqualTypeOf<{
    'message.queued': QueuedEvent
    'message.sent': SentEvent
    'message.delivered': DeliveredEvent
    'message.read': ReadEvent
    'message.failed': FailedEvent
    'send.overdue': OverdueEvent
    'send.unknown': UnknownSendEvent
    late: LateEvent
    received: ReceivedEvent
    payment: PaymentEvent
    'subscription.activate': SubscriptionActivateEvent
    'subscription.deactivate': SubscriptionDeactivateEvent
    'subscription.consent': SubscriptionConsentEvent
    'subscription.delivery': SubscriptionDeliveryEvent
    'subscription.billing': SubscriptionBillingEvent
    'subscription.other': SubscriptionOtherEvent
    unrecognized: UnrecognizedEvent
  }>()
})

test('a list of types is the union of their events, narrowed by `type`', () => {
  receiver.on(['message.sent', 'message.read'], (event) => {
    expectTypeOf(event).toEqualTypeOf<SentEvent | ReadEvent>()
    if (event.type === 'message.read') expectTypeOf(event).toEqualTypeOf<ReadEvent>()
  })
  receiver.on(['message.failed', 'payment'], (event) => {
    if (event.type === 'payment') expectTypeOf(event.data).toEqualTypeOf<Record<string, unknown>>()
    else expectTypeOf(event.failure).toEqualTypeOf<DeliveryFailure>()
  })
})

test('a family covers all of its kinds, also in a list', () => {
  receiver.on('message.*', (event) => {
    expectTypeOf(event).toEqualTypeOf<ReportEvent>()
  })
  receiver.on('subscription.*', (event) => {
    expectTypeOf(event.type).toEqualTypeOf<
      | 'subscription.activate'
      | 'subscription.deactivate'
      | 'subscription.consent'
      | 'subscription.delivery'
      | 'subscription.billing'
      | 'subscription.other'
    >()
  })
  receiver.on(['message.*', 'late'], (event) => {
    expectTypeOf(event).toEqualTypeOf<ReportEvent | LateEvent>()
  })
})

test('onAny is every event, narrowed by `type`', () => {
  receiver.onAny((event) => {
    expectTypeOf(event).toEqualTypeOf<WebhookEvent>()
    expectTypeOf(event.type).toEqualTypeOf<EventType>()
    expectTypeOf(event.raw).toEqualTypeOf<Buffer>()
    if (event.type === 'message.failed') expectTypeOf(event).toEqualTypeOf<FailedEvent>()
  })
})

test('the map of events has one event for each type, none of them `any`', () => {
  expectTypeOf<keyof EventMap>().toEqualTypeOf<EventType>()
  expectTypeOf<{ [T in EventType]: EventMap[T]['type'] }>().toEqualTypeOf<{ [T in EventType]: T }>()
  expectTypeOf<EventMap['received']['payload']>().toBeUnknown()
})

test('the shape of a report determines the fields of its payload', () => {
  receiver.on('message.*', (event) => {
    expectTypeOf(event.shape).toEqualTypeOf<ReportShape>()
    expectTypeOf(event.payload.project).toEqualTypeOf<string | undefined>()
    // @ts-expect-error -- only one of the two shapes has it
    expectTypeOf(event.payload.statuses?.category).toBeAny()
    if (event.shape === 'sms') {
      expectTypeOf(event.payload).toEqualTypeOf<SmsReportPayload>()
      expectTypeOf(event.payload.timestamp).toEqualTypeOf<number | undefined>()
      expectTypeOf(event.payload['campaign']).toBeUnknown()
    } else {
      expectTypeOf(event.payload).toEqualTypeOf<ChatAppReportPayload>()
      expectTypeOf(event.payload.statuses?.category).toEqualTypeOf<string | undefined>()
      expectTypeOf(event.payload.statuses?.['pricing']).toBeUnknown()
    }
  })
  receiver.onAny((event) => {
    if (event.type === 'message.failed' && event.shape === 'chat-app') {
      expectTypeOf(event.failure).toEqualTypeOf<DeliveryFailure>()
      expectTypeOf(event.payload.statuses?.error).toEqualTypeOf<string | undefined>()
    }
  })
})

test('handlers get a context, may be async, and `on` returns a function that removes them', () => {
  receiver.on('message.sent', (_event, context) => {
    expectTypeOf(context).toExtend<HandlerContext>()
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>()
  })
  expectTypeOf(receiver.on('message.sent', async () => {})).toEqualTypeOf<() => void>()
  expectTypeOf(receiver.onAny(() => {})).toEqualTypeOf<() => void>()
  expectTypeOf(receiver.onError(() => {})).toEqualTypeOf<() => void>()
})

test('a misspelt event type does not compile', () => {
  expectTypeOf(() => {
    // @ts-expect-error -- not delivred
    receiver.on('message.delivred', () => {})
    // @ts-expect-error -- onAny is meant
    receiver.on('*', () => {})
    // @ts-expect-error -- there is no such family
    receiver.on('payment.*', () => {})
    // @ts-expect-error -- one of two is misspelt
    receiver.on(['message.sent', 'message.raed'], () => {})
    // @ts-expect-error -- a handler is needed
    receiver.on('message.sent')
    // @ts-expect-error -- a failed message is not a delivered one
    receiver.on('message.failed', (_event: DeliveredEvent) => {})
  }).toBeFunction()
})
