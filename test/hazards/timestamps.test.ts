/** The `timestamp` of a payload, in every type and far out of range. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { hazards, several, accepted, type HazardCase } from '../support/hazard.ts'
import { digestOf, nowSeconds, postSigned, reportText } from '../support/wire.ts'

const NOW = 1_760_000_000
const SIGNED_AT = NOW - 100

/** A report with this JSON text as its timestamp, signed 100 s before the clock's time. */
function timed(name: string, json: string, fields: object): HazardCase {
  const body = reportText({ timestamp: '?' }).replace('"?"', json)
  return {
    name,
    options: { clock: () => NOW * 1_000 },
    send: ({ url }) =>
      postSigned(url, body, { 'x-service-signature': `t=${SIGNED_AT},v1=${digestOf(SIGNED_AT, body)}` }),
    outcome: accepted({ type: 'message.delivered', ...fields }),
    also: ({ dispatched: [event] }) => expect(event?.raw.toString()).toContain(`"timestamp":${json}`),
  }
}

const BY_PAYLOAD = (timestamp: number) => ({ timestamp, timestampSource: 'payload' })
const BY_SIGNATURE = (anomaly: string) => ({ timestamp: SIGNED_AT, timestampSource: 'signature', anomalies: [anomaly] })

hazards([
  timed('#89 timestamp as text', '"1759990000"', BY_PAYLOAD(1_759_990_000)),
  ...[
    '""',
    'null',
    'true',
    '[]',
    '{}',
    '"soon"',
    '"1759990000 "',
    '"-5"',
    '[1759990000]',
    '"2025-10-09T00:00:00Z"',
  ].map((json) => timed(`#90 timestamp ${json}`, json, BY_SIGNATURE('timestamp_unreadable'))),
  timed('#91 timestamp in milliseconds', '1759990000000', BY_SIGNATURE('timestamp_in_milliseconds')),
  ...['-1', '0', '1e20', '946684799', String(NOW + 86_401), String(NOW + 365 * 86_400), '1759990000000000'].map(
    (json) => timed(`#92 #93 timestamp ${json}`, json, BY_SIGNATURE('timestamp_out_of_range')),
  ),
  timed('#92 timestamp 1e400', '1e400', BY_SIGNATURE('timestamp_unreadable')),
  timed('#92 2000-01-01 is the first that is used', '946684800', BY_PAYLOAD(946_684_800)),
  timed('#93 a day ahead is the last that is used', String(NOW + 86_400), BY_PAYLOAD(NOW + 86_400)),
  several(
    '#93 a report from next year does not stay the latest',
    [
      reportText({ status: 'network_failure', timestamp: nowSeconds() + 365 * 86_400 }),
      reportText({ status: 'success', timestamp: nowSeconds() + 60 }),
    ],
    accepted({ type: 'message.failed' }, { type: 'message.delivered' }),
    {
      also: async ({ receiver }) =>
        expect(await receiver.messageState('m-1')).toMatchObject({ type: 'message.delivered' }),
    },
  ),
])
