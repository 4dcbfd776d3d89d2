/** Fields of another type, out of range, or missing. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { callback } from 'messaging-webhooks/testing'
import { hazards, several, accepted, unreadable, type HazardCase, type Outcome } from '../support/hazard.ts'
import { postSigned, reportText } from '../support/wire.ts'

const ON_CARRIER_B = { options: { networks: { b: 'carrierB' } } } as const
const FAILED_FOR_GOOD = accepted({ type: 'message.failed', failure: { kind: 'permanent', resend: false } })
const ON_CARRIER_A = { options: { networks: { a: 'carrierA' } } } as const
const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })

/** A carrier's own word, which no table has. */
function ownWord(reason: string, carrier?: 'carrierB'): Outcome {
  const failure = { kind: 'permanent', resend: false, cause: 'carrier_word', reason }
  return accepted({
    type: 'message.failed',
    status: reason,
    anomalies: ['unknown_word'],
    failure,
    ...(carrier && { carrier }),
  })
}

/** A signed report with these fields. */
function report(name: string, fields: object, outcome: Outcome, more: Partial<HazardCase> = {}): HazardCase {
  return { name, send: ({ url }) => postSigned(url, reportText(fields)), outcome, ...more }
}

/** A signed report with this JSON text as one of its values. */
function written(name: string, field: string, json: string, outcome: Outcome): HazardCase {
  const body = reportText({ [field]: '?' }).replace('"?"', json)
  return { name, send: ({ url }) => postSigned(url, body), outcome }
}

/** The same message id as JSON text. */
function withId(json: string, more = ''): string {
  return `{"messageId":${json},"status":"success","timestamp":1760000000${more}}`
}

hazards([
  written('#49 an id beyond 2^53', 'messageId', '12345678901234567890', {
    ...accepted({ type: 'message.delivered', messageId: '12345678901234567890' }),
  }),
  several(
    '#49 two ids beyond 2^53 that are equal as numbers',
    [withId('12345678901234567890'), withId('12345678901234567891')],
    accepted({ messageId: '12345678901234567890' }, { messageId: '12345678901234567891' }),
  ),
  several(
    '#49 an id beyond 2^53 and a smaller one of the same name further in',
    [
      withId('12345678901234567890', ',"part":{"messageId":7}'),
      withId('12345678901234567891', ',"part":{"messageId":7}'),
    ],
    accepted({ messageId: '12345678901234567890' }, { messageId: '12345678901234567891' }),
  ),
  several(
    '#49 an id beyond 2^53 and, further in, one that is equal as a number',
    [
      withId('12345678901234567890', ',"part":{"messageId":12345678901234567899}'),
      withId('12345678901234567891', ',"part":{"messageId":12345678901234567899}'),
    ],
    accepted({ anomalies: ['inexact_id'] }, { anomalies: ['inexact_id'] }),
  ),
  {
    name: '#49 a chat-app id beyond 2^53',
    send: ({ url }) => postSigned(url, '{"channel":"chat","statuses":{"message_id":9007199254740993,"status":"sent"}}'),
    outcome: accepted({ type: 'message.sent', messageId: '9007199254740993' }),
  },
  written('#50 an id that is a number', 'messageId', '42', accepted({ messageId: '42' })),
  ...['true', 'false', '{}', '[]', '["m-1"]', 'null', '""', '" "', '"\\t\\n"', '1e400'].map((json) =>
    written(`#50 an id that is ${json}`, 'messageId', json, unreadable('no_message_id')),
  ),
  ...['{', '}', ':', 'a\nb', '{a}b', "'; DROP TABLE events; --", '../../etc/passwd', '%00', '\u202Eabc', '😀'].map(
    (id) => report(`#51 an id with ${JSON.stringify(id)}`, { messageId: id }, accepted({ messageId: id })),
  ),
  report('#51 an id of 200 kB', { messageId: 'x'.repeat(200_000) }, accepted({ messageId: 'x'.repeat(200_000) }), {
    also: async ({ receiver }) =>
      expect(await receiver.messageState('x'.repeat(200_000))).toMatchObject({ type: 'message.delivered' }),
  }),
  several(
    '#51 fields that would be one text if they were joined',
    [
      reportText({ messageId: 'a:b', status: 'c', network: 'b', timestamp: 1_760_000_000 }),
      reportText({ messageId: 'a', status: 'b:c', network: 'b', timestamp: 1_760_000_000 }),
    ],
    accepted({ messageId: 'a:b' }, { messageId: 'a' }),
    ON_CARRIER_B,
  ),
  ...['constructor', '__proto__', 'toString', 'x'.repeat(200_000), 'SUCCESS', 'success ', '1.5'].flatMap((status) => {
    const shown = JSON.stringify(status.slice(0, 20))
    const chatApp = { messageId: undefined, status: undefined, statuses: { message_id: 'm-1', status } }
    return [
      report(`#86 status ${shown} on carrier B`, { status, network: 'b' }, ownWord(status, 'carrierB'), ON_CARRIER_B),
      report(`#86 status ${shown} of an unnamed network`, { status }, ownWord(status)),
      report(`#86 status ${shown} on carrier A`, { status, network: 'a' }, unreadable('unknown_status'), ON_CARRIER_A),
      report(`#86 status ${shown} of a chat-app`, chatApp, unreadable('unknown_status')),
    ]
  }),
  report('#86 status that is a number, on carrier B', { status: 7, network: 'b' }, FAILED_FOR_GOOD, ON_CARRIER_B),
  several(
    'two status numbers beyond 2^53 that are equal as numbers',
    ['12345678901234567890', '12345678901234567891'].map((status) =>
      reportText({ status: '?', network: 'b', timestamp: 1_760_000_000 }).replace('"?"', status),
    ),
    accepted({}, {}),
    ON_CARRIER_B,
  ),
  report('#87 an unnamed network', { network: 'carrier-z' }, accepted({ network: 'carrier-z', carrier: 'carrierA' })),
  report('#88 code 20 beside an unknown word', { status: 'x', statusCode: 20 }, ownWord('x')),
  report('#88 code as text', { status: '', statusCode: '15' }, accepted({ type: 'message.delivered', statusCode: 15 })),
  ...[15.5, '١٥', -1, 1e9, null, {}].map((statusCode) =>
    report(`#88 code ${JSON.stringify(statusCode)} beside a known word`, { statusCode }, DELIVERED, {
      also: ({ dispatched: [event] }) => expect(event).not.toHaveProperty('statusCode'),
    }),
  ),
  {
    name: '#94 statuses is a list of one',
    send: ({ url }) => postSigned(url, '{"channel":"chat","statuses":[{"message_id":"m-1","status":"sent"}]}'),
    outcome: unreadable('several_statuses'),
  },
  {
    name: '#94 statuses is a list of two',
    send: ({ url }) =>
      postSigned(url, '{"statuses":[{"message_id":"a","status":"sent"},{"message_id":"b","status":"read"}]}'),
    outcome: unreadable('several_statuses'),
  },
  ...['null', '"sent"', '1', '{}', '{"status":"sent"}', '{"message_id":null,"status":"sent"}'].map((statuses) => ({
    name: `#94 statuses is ${statuses}`,
    send: ({ url }: { url: string }) => postSigned(url, `{"channel":"chat","statuses":${statuses}}`),
    outcome: unreadable('no_message_id'),
  })),
  ...['junk', 1.5, null, [], { at: 1 }, '٣'].map((expiry): HazardCase => ({
    name: `#95 expiration_timestamp ${JSON.stringify(expiry)}`,
    send: ({ url }) =>
      postSigned(
        url,
        JSON.stringify({
          ...callback.chatApp(),
          statuses: { message_id: 'm', status: 'sent', expiration_timestamp: expiry },
        }),
      ),
    outcome: accepted({ type: 'message.sent', payload: { statuses: { expiration_timestamp: expiry } } }),
  })),
])
