import { pairsFor, prove } from '../../src/verify/authenticate.ts'
import { credentialsSource } from '../../src/verify/credentials.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../load/secrets.ts'
import { eachInTurn } from './samples.ts'
import type { Step } from './step.ts'

export const verify: Step = {
  what: 'both proofs: the header read, HMAC, authKey',
  prepare() {
    const credentials = credentialsSource({
      credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
      projects: undefined,
      clock: systemClock(),
      lookupTimeoutMs: 1_000,
    })
    const pairs = pairsFor(credentials, undefined)
    if (pairs instanceof Promise) throw new Error('Fixed pairs were looked up.')
    const arrivedAtMs = Date.now()
    return eachInTurn(({ header, body }) => {
      const proof = prove(
        {
          signatures: [header],
          captured: { kind: 'exact', bytes: body.bytes, decoded: false },
          policy: 'either',
          arrivedAtMs,
        },
        body,
        pairs,
        86_400,
      )
      if (!proof.proved || proof.proof !== 'both') throw new Error('A good callback was not proved.')
      return proof
    })
  },
}
