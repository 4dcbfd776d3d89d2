/** Events, and stores on servers that a test opens itself. */
import type { Store } from 'messaging-webhooks'
import type { MessageStore, NewEvent, StoreHost } from 'messaging-webhooks/store'
import { onTestFinished } from 'vitest'
import type { Claim, ClaimRequest } from '../../../src/dispatch/claim.ts'
import { claim as claimSamples, digestOf, sample } from '../../../src/store-conformance/samples.ts'
import { hostOf } from '../../support/stores.ts'

export { admit, admitting, settleAll, settling } from '../../../src/store-conformance/samples.ts'
export { digestOf, hostOf }

/** A report of a message; `at` is its position there. */
export function eventOf(message: string, at = 1, raw = Buffer.from('{}')): NewEvent {
  return { ...sample({ message, at, raw }), id: digestOf(`event ${message} ${at}`) }
}

export async function claim(open: MessageStore, request: Partial<ClaimRequest> = {}): Promise<readonly Claim[]> {
  return (await claimSamples(open, request)).claims
}

/** The messages of the claimed events, by name. */
export function namesOf(claims: readonly Claim[]): readonly (string | undefined)[] {
  return claims.map(({ record }) => record.report?.messageId).toSorted()
}

/** Closed after the test. */
export async function opened<X extends object>(
  store: Store<X>,
  host: Partial<StoreHost> = {},
  // For a test that runs concurrently with others of its file.
  after: typeof onTestFinished = onTestFinished,
): Promise<MessageStore<X>> {
  const open = await store.open(hostOf(host))
  after(() => open.close())
  return open
}

/** For admissions and observations only: dispatches nothing, sends no heartbeats. */
export function observer(store: Store<object>): Promise<MessageStore> {
  return opened(store, { claims: false })
}
