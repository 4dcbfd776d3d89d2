/** Events to admit and requests to claim them, by this machine's time. */
import type { Claim, ClaimRequest, NewEvent, OpenStore, Settlement } from 'messaging-webhooks/store'
import { claim as claimSamples, digestOf, sample, settlementOf } from '../../../src/store-conformance/samples.ts'

export { digestOf }

/** A report of a message; `at` is its position there. */
export function eventOf(message: string, at = 1, raw = Buffer.from('{}')): NewEvent {
  return { ...sample({ message, at, raw }), id: digestOf(`event ${message} ${at}`) }
}

export async function claim(open: OpenStore<object>, request: Partial<ClaimRequest> = {}): Promise<readonly Claim[]> {
  return (await claimSamples(open, { nowMs: Date.now(), ...request })).claims
}

export function done(claimed: Claim): Settlement {
  return settlementOf(claimed, { outcome: 'done' })
}

/** The messages of the claimed events, by name. */
export function namesOf(claims: readonly Claim[]): readonly (string | undefined)[] {
  return claims.map(({ record }) => record.report?.messageId).toSorted()
}
