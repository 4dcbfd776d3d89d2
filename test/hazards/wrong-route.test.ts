/** Callbacks at the wrong URL, and schemas that refuse them. Numbers refer to the hazard list. */
import { callback } from 'messaging-webhooks/testing'
import type { CallbackSchemas } from 'messaging-webhooks'
import { expect } from 'vitest'
import { hazards, accepted, reporting, unreadable, type HazardCase, type Outcome } from '../support/hazard.ts'
import { keyedText, postSigned, reportText } from '../support/wire.ts'

type Validate = NonNullable<CallbackSchemas['payment']>['~standard']['validate']

/** Signed bodies at the URL of a kind. */
function at(
  kind: 'received' | 'payment' | 'subscription' | 'status' | undefined,
  cases: readonly (readonly [name: string, body: object | string, outcome: Outcome])[],
): readonly HazardCase[] {
  return cases.map(([name, body, outcome]) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return { name, mount: { kind }, send: ({ url }) => postSigned(url, text), outcome }
  })
}

/** A payment under the user's own schema. */
function checked(name: string, validate: Validate, outcome: Outcome, handlerTimeoutMs = 60_000): HazardCase {
  const payment = { '~standard': { version: 1 as const, vendor: 'test', validate } }
  return {
    name,
    mount: { kind: 'payment' },
    options: { schemas: { payment }, handlerTimeoutMs },
    send: ({ url }) => postSigned(url, JSON.stringify({ ...callback.payment(), note: 'from the body' })),
    outcome,
    also: ({ errors }) => expect(errors).toEqual([]),
  }
}

function thrower(thrown: unknown): Validate {
  return () => {
    throw thrown
  }
}

/** What an untyped schema may return. */
const NOTHING: never = JSON.parse('null') as never

const FAILED = unreadable('schema_failed', { kind: 'payment', data: { note: 'from the body' } })
const REFUSED = unreadable('schema_refused', { kind: 'payment', data: { note: 'from the body' } })

function otherSubscription(word?: string): Outcome {
  return accepted({ type: 'subscription.other', ...(word === undefined ? undefined : { word }) })
}

const NO_ID = unreadable('no_message_id', { kind: 'status' })
const REPORT = { data: { messageId: 'm-1' } }
const misplaced = (fields: object): Outcome => reporting(unreadable('kind_differs', fields), 'kind_differs')
const ACTIVATE = accepted({ type: 'subscription.activate' })

hazards([
  ...at('payment', [
    ['#96 a report at the URL of payments', reportText(), misplaced({ kind: 'payment', ...REPORT })],
    ['a list at the URL of payments', '[1]', unreadable('not_an_object', { kind: 'payment', data: [1] })],
    ['an empty body at the URL of payments', '', unreadable('empty_body', { kind: 'payment' })],
    ['an empty object at the URL of payments', '{}', accepted({ type: 'payment', data: {} })],
  ]),
  ...at('received', [['#96 a report at the URL of received messages', reportText(), misplaced({ kind: 'received' })]]),
  ...at('status', [
    ['#96 a payment at the URL of reports', callback.payment(), NO_ID],
    ['#96 a received message at the URL of reports', callback.received(), NO_ID],
    ['#96 a subscription at the URL of reports', callback.subscription(), NO_ID],
  ]),
  ...at(undefined, [['a list at a URL without a kind', '[]', unreadable('not_an_object')]]),
  ...at('subscription', [
    ['#96 a report at the URL of subscriptions', reportText(), misplaced(REPORT)],
    [
      'the word in several fields: the first of them in their order counts',
      { status: 'delivery', action: 'consent', event: ' ', type: 'ACTIVATE' },
      ACTIVATE,
    ],
    [
      'an unknown word in the first field of the type, and known ones elsewhere',
      { status: 'delivery', keyword: 'ACTIVATE', event: 'suspended', type: 'ACTIVATE' },
      otherSubscription('suspended'),
    ],
    ['a list at the URL of subscriptions', '[1]', unreadable('not_an_object')],
    ['the same word twice', { a: 'activate', b: 'activate' }, ACTIVATE],
    ['the word further in', { event: { type: 'activate' } }, otherSubscription()],
  ]),
  checked('#97 the schema refuses', () => ({ issues: [{ message: 'quotes from the body' }] }), REFUSED),
  checked('#97 the schema refuses later', () => Promise.resolve({ issues: [{ message: 'quotes' }] }), REFUSED),
  checked('#97 the schema gives no issue and yet an empty list', () => ({ issues: [] }), REFUSED),
  checked('#97 the schema throws an error', thrower(new Error(keyedText())), FAILED),
  checked('#97 the schema throws undefined', thrower(undefined), FAILED),
  checked('#97 the schema rejects', () => Promise.reject(new Error(keyedText())), FAILED),
  checked('#97 the schema never resolves', () => new Promise(() => {}), FAILED, 30),
  checked('#97 the schema resolves to nothing', () => Promise.resolve(NOTHING), FAILED),
  checked('#97 the schema gives nothing', () => NOTHING, FAILED),
  checked(
    '#97 the schema changes the payload',
    () => ({ value: 7 }),
    accepted({ type: 'payment', data: 7, payload: { note: 'from the body' } }),
  ),
])
