import type { HandlerContext, DeliveredEvent, FailedEvent, ReportEvent, WebhookEvent } from 'messaging-webhooks'
import { createOnWebhook, OnWebhook, WebhooksModule } from 'messaging-webhooks/nest'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

/** The arguments of a method decorator. */
declare const of: <H>(method: H) => TypedPropertyDescriptor<H>

const takesFailed = of((_event: FailedEvent, _context: HandlerContext) => {})
const takesDelivered = of((_event: DeliveredEvent) => Promise.resolve())
const takesReports = of((_event: ReportEvent) => {})

test('a method takes the events of its types, or more', () => {
  OnWebhook('message.failed')({}, 'on', takesFailed)
  OnWebhook('message.failed')({}, 'on', takesReports)
  const takesNothing = of(() => 'done')
  OnWebhook('message.failed')({}, 'on', takesNothing)
  OnWebhook(['message.failed', 'message.delivered'])({}, 'on', takesReports)
  OnWebhook('message.*', { receiver: 'bank' })({}, 'on', takesReports)
  // @ts-expect-error -- what failed was not delivered
  OnWebhook('message.failed')({}, 'on', takesDelivered)
  // @ts-expect-error -- there are others in the family
  OnWebhook('message.*')({}, 'on', takesFailed)
  // @ts-expect-error -- there is another in the list
  OnWebhook(['message.failed', 'payment'])({}, 'on', takesFailed)
  // @ts-expect-error -- there is no such type
  OnWebhook('message.faild')
  const takesMore = of((_event: FailedEvent, _context: { readonly sql: string }) => {})
  // @ts-expect-error -- the context has no such thing
  OnWebhook('message.failed')({}, 'on', takesMore)
})

test('a custom decorator knows the schemas and the context of the store', () => {
  const _ = { payment: z.object({ amount: z.number() }) }
  const OnMine = createOnWebhook<typeof _, { readonly sql: string }>()
  const takesNumber = of((_event: { readonly data: { readonly amount: number } }) => {})
  OnMine('payment')({}, 'on', takesNumber)
  const takesContext = of((_event: WebhookEvent<typeof _>, _context: { readonly sql: string }) => {})
  OnMine('payment')({}, 'on', takesContext)
  const takesText = of((_event: { readonly data: { readonly amount: string } }) => {})
  // @ts-expect-error -- the amount is a number
  OnMine('payment')({}, 'on', takesText)
})

test('the module takes the options of the receiver, and paths', () => {
  const credentials = { authKey: 'key' }
  expectTypeOf(WebhooksModule.forRoot).toBeCallableWith({ credentials, status: '/status', name: 'bank' })
  expectTypeOf(WebhooksModule.forRoot).toBeCallableWith({ projects: {}, payment: { path: '/pay', proof: 'both' } })
  // @ts-expect-error -- there are no credentials
  WebhooksModule.forRoot({ status: '/status' })
  // @ts-expect-error -- there is no such kind
  WebhooksModule.forRoot({ credentials, statsu: '/status' })
  WebhooksModule.forRootAsync({ inject: ['key'], useFactory: (authKey: string) => ({ credentials: { authKey } }) })
  // @ts-expect-error -- a path is a string
  WebhooksModule.forRootAsync({ useFactory: () => ({ credentials, status: 1 }) })
})
