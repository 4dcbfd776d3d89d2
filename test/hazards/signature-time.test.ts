/** The age of a signature, second by second. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { hazards, refused, accepted, type HazardCase, type Outcome } from '../support/hazard.ts'
import { keyedText, postSigned, reportText, signatureOf } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1', proof: 'signature' })
const STALE = refused(401, 'signature_stale')
const BODY = reportText()

const NOW = 1_760_000_000

/** A receiver with a fixed clock, and a header that is `age` seconds older. */
function aged(name: string, nowMs: number, age: number, outcome: Outcome, body = BODY): HazardCase {
  return {
    name,
    options: { clock: () => nowMs },
    send: ({ url }) => postSigned(url, body, { 'x-service-signature': signatureOf(body, { t: NOW - age }) }),
    outcome,
  }
}

hazards([
  aged('#22 t 300 s ago', NOW * 1_000, 300, DELIVERED),
  aged('#22 t 300 s ahead', NOW * 1_000, -300, DELIVERED),
  aged('#23 t 301 s ago', NOW * 1_000, 301, STALE),
  aged('#23 t 301 s ahead', NOW * 1_000, -301, STALE),
  aged('#23 t 301 s ago, right authKey too', NOW * 1_000, 301, STALE, keyedText()),
  aged('#25 t 300.4 s ago', NOW * 1_000 + 400, 300, DELIVERED),
  aged('#25 t 300.999 s ago', NOW * 1_000 + 999, 300, DELIVERED),
  aged('#25 t 299.6 s ahead', NOW * 1_000 + 400, -300, DELIVERED),
  aged('#25 t 300.001 s ahead', NOW * 1_000 - 1, -300, STALE),
  {
    ...aged('#23 the offset is measured and reported', NOW * 1_000, 3_601, STALE),
    also: ({ errors }) => expect(errors[0]?.message).toContain('3601 s behind this clock, and the digest is right'),
  },
  {
    ...aged('#23 a wrong digest is not called right', NOW * 1_000, -3_601, STALE, `${BODY} `),
    send: ({ url }) => postSigned(url, BODY, { 'x-service-signature': `t=${NOW + 3_601},v1=${'0'.repeat(64)}` }),
    also: ({ errors }) => expect(errors[0]?.message).toContain('3601 s ahead of this clock, and the digest was not'),
  },
])
